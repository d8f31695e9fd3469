// Margins corrected for what differs between datasets: does τ transfer better? Leave one dataset out, with every correction. After compiling the tests:
//   CLAIMS=gold CLAIM_TEXT=subquestion-or-title node build/bench/transfer-margins.js RUN…
import { openVectors } from '../runtime/index.js';
import { claimText, defaultClaimText, type ClaimText } from '../src/core/claims.js';
import { evidenceText } from '../src/core/embeddings.js';
import { readManifest } from '../src/core/manifest.js';
import { random } from '../src/core/random.js';
import { runFolder } from '../src/core/run-folder.js';
import { readTable } from '../src/core/tables.js';
import { type Trajectory, groupTrajectories, trajectoryColumns } from '../src/core/trajectories.js';
import { roundMargin } from '../src/core/units.js';
import { type DatasetRun, type QuestionRun, calibrate, joinRuns, loadRun, readRunClaims, textTable } from '../src/evaluate/index.js';

/** Sentences of other questions that a claim's background similarity is taken over. */
const BACKGROUND = 300;

/** Of one claim: its margin after each loop, its mean and standard deviation of cosines to the background, and its cosine to the question. */
interface ClaimSimilarity {
  margins: Float64Array;
  mean: number;
  deviation: number;
  best: number;
  question: number;
}

type Correction = (claim: ClaimSimilarity, margin: number) => number;

/** Corrected claim margins, squeezed into the scale [0, 2] where they have to stay: only their order and equality of scale matter. */
const CORRECTIONS: [string, Correction, 'max' | 'mean'][] = [
  ['plain', (_, margin) => margin, 'max'],
  ['mean over claims', (_, margin) => margin, 'mean'],
  ['less the mean background', ({ mean }, margin) => margin + mean, 'max'],
  ['less the best background', ({ best }, margin) => (margin + best) / 1.5, 'max'],
  ['in deviations of the background', ({ mean, deviation }, margin) => 1 - (1 - margin - mean) / deviation / 25, 'max'],
  ['share of the way up from the background', ({ mean }, margin) => margin / (1 - mean), 'max'],
  ['less the question', ({ question }, margin) => (margin + question) / 2, 'max'],
  ['relative to the question', ({ question }, margin) => margin / (1 - Math.min(question, 0.95)) / 5, 'max'],
  ['less the mean background, mean over claims', ({ mean }, margin) => margin + mean, 'mean'],
];

const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.log('transfer-margins: left out, no runs given; node build/bench/transfer-margins.js RUN…');
} else {
  const { CLAIMS = 'gold', CLAIM_TEXT, ENCODER = 'minilm', DECIDER = 'gold' } = process.env;
  const sources = { decider: DECIDER, claims: CLAIMS, encoder: ENCODER, claimText: CLAIM_TEXT as ClaimText | undefined };
  const loaded = [];
  const similarities = new Map<QuestionRun, ClaimSimilarity[]>();
  for (const folder of folders) {
    const run = await loadRun(folder, sources);
    loaded.push(run);
    await addSimilarities(folder, run.questions, similarities);
  }
  const byId = new Map([...similarities].map(([{ id, row }, own]) => [`${id}/${row}`, own]));
  const { datasets } = joinRuns(loaded);
  // Joining moves the rows of later runs, so their similarities are found in the order of the questions.
  const inOrder = loaded.flatMap((run) => run.questions.map((one) => byId.get(`${one.id}/${one.row}`) as ClaimSimilarity[]));
  const corrected = (correction: Correction, over: 'max' | 'mean'): DatasetRun[] => {
    let at = 0;
    return datasets.map((run) => ({
      ...run,
      questions: run.questions.map((one) => {
        const claims = inOrder[at++] ?? [];
        const margins = one.margins.map((_, loop) => {
          const values = claims.map((claim) => Math.min(2, Math.max(0, correction(claim, claim.margins[loop] ?? Number.NaN))));
          return roundMargin(over === 'max' ? Math.max(...values) : values.reduce((sum, value) => sum + value, 0) / values.length);
        });
        return { ...one, margins };
      }),
    }));
  };
  console.log(
    `claims ${CLAIMS}, encoder ${ENCODER}, decider ${DECIDER}; τ on all rows of the other datasets, all distinct margins, bar 0.9`,
  );
  const rows = CORRECTIONS.map(([name, correction, over]) => {
    const { folds } = calibrate(corrected(correction, over), {
      grid: 'exact',
      safetyReference: 'none',
      trainRows: Infinity,
      resamples: 2000,
    });
    return [name, ...folds.flatMap(({ all, frontier }) => [interval(all.agreement), interval(all.callCut), frontier.callCut.toFixed(3)])];
  });
  console.log(textTable(['margin', ...datasets.flatMap(({ dataset }) => [`${dataset} agreement`, 'cut', 'own frontier'])], rows));
}

async function addSimilarities(folder: string, questions: readonly QuestionRun[], to: Map<QuestionRun, ClaimSimilarity[]>): Promise<void> {
  const { CLAIMS = 'gold', CLAIM_TEXT, ENCODER = 'minilm' } = process.env;
  const manifest = await readManifest(folder, 'trajectories');
  const claims = await readRunClaims({ folder, manifest }, CLAIMS);
  const text = (CLAIM_TEXT as ClaimText | undefined) ?? defaultClaimText(claims.source);
  const vectors = await openVectors(runFolder.embeddings(folder, ENCODER));
  const runs = new Map(questions.map((one) => [`${one.id}/${one.row}`, one]));
  const trajectories: Trajectory[] = [];
  for await (const one of groupTrajectories(readTable(folder, manifest, 'trajectories', trajectoryColumns))) trajectories.push(one);
  const pool = trajectories.flatMap((one) =>
    one.loops.flatMap(({ sentences }) =>
      sentences
        .filter((each) => each.text.trim() !== '')
        .map((each) => ({ id: one.question_id, vector: vectors.get('passage', evidenceText(each.title, each.text, 'title+sentence')) })),
    ),
  );
  const background = random(13, 'bench background', folder).sample(pool, Math.min(BACKGROUND, pool.length));
  for (const { question_id, row } of trajectories) {
    const run = runs.get(`${question_id}/${row}`);
    if (run === undefined) continue;
    const own = claims.of({ question_id, row });
    const others = background.filter((one) => one.id !== question_id);
    to.set(
      run,
      own.map((claim, at): ClaimSimilarity => {
        const vector = vectors.get('query', claimText(claim, text));
        const cosines = others.map((one) => dot(vector, one.vector));
        const mean = cosines.reduce((sum, one) => sum + one, 0) / cosines.length;
        const deviation = Math.sqrt(cosines.reduce((sum, one) => sum + (one - mean) ** 2, 0) / cosines.length);
        const question = vectors.has('query', claim.question) ? dot(vector, vectors.get('query', claim.question)) : Number.NaN;
        return { margins: run.claimMargins?.[at] ?? new Float64Array(), mean, deviation, best: Math.max(...cosines), question };
      }),
    );
  }
}

function dot(a: Float32Array, b: Float32Array): number {
  return a.reduce((sum, value, at) => sum + value * (b[at] ?? Number.NaN), 0);
}

function interval({ value, low, high }: { value: number | null; low: number | null; high: number | null }): string {
  return `${(value ?? NaN).toFixed(3)} [${(low ?? NaN).toFixed(3)}, ${(high ?? NaN).toFixed(3)}]`;
}
