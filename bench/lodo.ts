// Leave-one-dataset-out selection over a million loops, exact and on the grid: `node build/bench/lodo.js [loops]`.
import { cpus, totalmem } from 'node:os';
import { performance } from 'node:perf_hooks';
import { random } from '../src/core/random.js';
import { roundMargin } from '../src/core/units.js';
import { type DatasetRun, type QuestionRun, calibrate } from '../src/evaluate/index.js';

const LOOPS = 6;
const DATASETS = ['a', 'b', 'c', 'd'] as const;

/** Margins that fall loop by loop, and a decider that now and then takes "covered" back. */
function dataset(name: string, questions: number): DatasetRun {
  const stream = random(13, 'bench lodo', name);
  const made = Array.from({ length: questions }, (_, row): QuestionRun => {
    const margins = new Float64Array(LOOPS);
    const fires: boolean[] = [];
    let margin = 0.5 + 0.5 * stream.float();
    for (let loop = 0; loop < LOOPS; loop++) {
      margin *= 0.55 + 0.45 * stream.float();
      margins[loop] = roundMargin(margin);
      fires.push(stream.float() > 2 * margin);
    }
    const first = fires.indexOf(true) + 1;
    const goldLoop = first === 0 ? Infinity : Math.min(LOOPS, first + (stream.int(10) === 0 ? 1 : 0));
    return { id: `${name}${row}`, row, margins, fires, goldLoop, claims: 2, deciderClaims: 2 };
  });
  return { dataset: name, questions: made, excluded: { no_claims: 0, no_loop: 0, undecided: 0, repeated: 0 }, rows: questions };
}

const loops = Number(process.argv[2] ?? 1_000_000);
const each = Math.ceil(loops / LOOPS / DATASETS.length);
const runs = DATASETS.map((name) => dataset(name, each));
console.log(
  `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.version}`,
);
console.log(
  `${runs.length} datasets, ${each * runs.length} questions, ${each * runs.length * LOOPS} loops; every row in the training split`,
);
for (const grid of ['exact', 0.005] as const) {
  const started = performance.now();
  // Without the bootstrap: its cost is that of the intervals, 10,000 × questions, whatever chose τ.
  const { tau, folds } = calibrate(runs, { grid, trainRows: Infinity, resamples: 0 });
  const seconds = (performance.now() - started) / 1000;
  const cuts = folds.map((fold) => `${fold.target} τ ${fold.selection.tau} cut ${(fold.all.callCut.value as number).toFixed(3)}`);
  console.log(`LODO, grid ${grid}: ${seconds.toFixed(2)} s; τ ${tau}; ${cuts.join(', ')}`);
}
