// Call cut at agreement ≥ 0.90 with claim text and with drafters on the same runs, with 95% intervals from resampled questions; every resample
// chooses its own best threshold, and all are taken on the same resamples, so that differences have intervals too. After compiling the tests:
//   node build/bench/frontier-intervals.js RUN… -- DRAFTER…      (the second interval is that of the difference from the first drafter)
// and how far the margins of slots and claim text are from each other (root mean square over loops).
import { basename } from 'node:path';
import { percentileInterval } from '../src/stats/index.js';
import { type QuestionRun, FRONTIER_AGREEMENT, cutAtAgreement, joinRuns, loadRun, thresholdCurve } from '../src/evaluate/index.js';
import { random } from '../src/core/random.js';

const RESAMPLES = 2000;
const SEED = 13;

const given = process.argv.slice(2);
const split = given.indexOf('--');
if (split < 1) {
  console.log('frontier-intervals: left out, no runs given; node build/bench/frontier-intervals.js RUN… -- DRAFTER…');
} else {
  const encoder = process.env.ENCODER ?? 'minilm';
  const [runs, drafters] = [given.slice(0, split), given.slice(split + 1)];
  const sources = { decider: 'gold', claims: 'gold', encoder, claimText: 'subquestion-or-title' } as const;
  const read = async (drafter?: string): Promise<QuestionRun[]> => {
    const loaded = [];
    for (const run of runs) loaded.push(await loadRun(run, drafter === undefined ? sources : { ...sources, drafter }));
    const { datasets } = joinRuns(loaded);
    if (datasets.length !== 1) throw new RangeError(`got runs of ${datasets.length} datasets, expected one`);
    return datasets[0]?.questions as QuestionRun[];
  };
  const text = await read();
  const systems = [{ name: 'claim text', questions: text }];
  for (const drafter of drafters) systems.push({ name: basename(drafter), questions: await read(drafter) });
  const draws = Array.from({ length: RESAMPLES }, (_, resample) => {
    const stream = random(SEED, 'bench frontier', resample);
    return Array.from(text, () => stream.int(text.length));
  });
  const cut = (questions: readonly QuestionRun[]): number => cutAtAgreement(thresholdCurve(questions), FRONTIER_AGREEMENT).callCut;
  console.log(`${text.length} questions, ${RESAMPLES} resamples, seed ${SEED}`);
  let first: number[] | undefined;
  for (const [at, { name, questions }] of systems.entries()) {
    const own = draws.map((draw) => cut(draw.flatMap((index) => questions[index] ?? [])));
    const difference = first === undefined ? '' : `  ${words(first.map((value, index) => (own[index] ?? NaN) - value))}`;
    const distance = at === 0 ? '' : `, margins ${marginDistance(questions, text).toFixed(4)} from claim text's`;
    console.log(`${name}  ${cut(questions).toFixed(3)} ${words(own)}${difference}${distance}`);
    if (at === 1) first = own;
  }
}

/** Root of the mean squared difference of the state margins, over the loops of all questions. */
function marginDistance(a: readonly QuestionRun[], b: readonly QuestionRun[]): number {
  const squares = a.flatMap(({ margins }, at) => Array.from(margins, (value, loop) => (value - (b[at]?.margins[loop] ?? NaN)) ** 2));
  return Math.sqrt(squares.reduce((sum, one) => sum + one, 0) / squares.length);
}

function words(values: readonly number[]): string {
  const { low, high } = percentileInterval(Float64Array.from(values), 0.95);
  return `[${low.toFixed(3)}, ${high.toFixed(3)}]`;
}
