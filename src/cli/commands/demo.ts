import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { type BuiltinPaths, writeBuiltinData } from '../../../datasets/builtin/index.js';
import { readProfile } from '../../../runtime/index.js';
import { claimColumns, claimText } from '../../core/claims.js';
import { InputError } from '../../core/errors.js';
import { readLines, writeJsonl } from '../../core/jsonl.js';
import { MANIFEST_NAME, readManifest } from '../../core/manifest.js';
import { interruptedRun, openOutputFolder } from '../../core/output-folder.js';
import { readTable } from '../../core/tables.js';
import { buildReport, figure, htmlParagraphs, htmlTable, readReportSources, signed, textTable } from '../../evaluate/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { runStep } from '../run-step.js';
import { calibrate } from './calibrate.js';
import { claimsBuild } from './claims-build.js';
import { dataDoctor } from './data-doctor.js';
import { decide } from './decide.js';
import { drafterTrain } from './drafter-train.js';
import { embed } from './embed.js';
import { labelsBuild } from './labels-build.js';
import { replay } from './replay.js';
import { smallTrain } from './small-train.js';
import { trajectoriesRun } from './trajectories-run.js';

interface Flags extends CommonFlags {
  'cache-dir'?: string;
}

type Counts = { [name: string]: number | string };
type BuiltinName = keyof Awaited<ReturnType<typeof writeBuiltinData>>;

/** What stands for the claims in the gate's margin, side by side. */
const GATES = ['claim text', 'drafter'] as const;
type Gate = (typeof GATES)[number];

/** Claims are embedded by sub-question or title: a gold claim's own text quotes its evidence. */
const CLAIM_TEXT = 'subquestion-or-title';

export const demo: Command = {
  path: 'demo',
  describe:
    'the whole way on built-in data with built-in models: doctor, labels, verifier, drafter, search loops, calibration, replay, report',
  epilogue: 'Results go to --out (default: out/demo), which is made anew each time; nothing is downloaded.',
  options: { 'cache-dir': { type: 'string', describe: 'where the converted encoder and embeddings are kept' } },
  run: (args, terminal) => run(args, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const { seed } = flags;
  const dir = flags.out ?? join('out', 'demo');
  await refuseForeign(dir);
  const out = await openOutputFolder({ dir, kind: 'demo', command: 'demo', options: {}, seed, inputs: [], force: true });
  const data = await writeBuiltinData(join(dir, 'data'), { seed });
  const names = Object.keys(data) as BuiltinName[];
  const context: Context = {
    dir,
    common: { seed, force: true, quiet: flags.quiet },
    cache: flags['cache-dir'] === undefined ? {} : { 'cache-dir': flags['cache-dir'] },
    terminal,
  };
  const counts: { [dataset: string]: { [name: string]: number | string } } = {};
  for (const name of names) counts[name] = await learnFrom(name, data[name], context);
  const models = await trained(names, context);
  for (const name of names) counts[name] = { ...counts[name], ...(await searched(name, data[name], models, context)) };
  const rows: DemoRow[] = [];
  for (const gate of GATES) rows.push(...(await gated(gate, names, models, context)));
  const cells = rows.map(cellsOf);
  const lead = [
    { heading: 'What the gate saves and costs', body: htmlTable(HEADER, cells) + htmlParagraphs(NOTES) },
    { heading: 'What was built on the way', body: countsTable(counts) },
  ];
  const { html, json } = await buildReport('hopgate demo', await readReportSources([dir]), lead);
  await out.file('report.html', html);
  await out.file('report.json', `${JSON.stringify({ rows, counts, ...json }, null, 2)}\n`);
  await out.finish({ counts });
  terminal.print(textTable(HEADER, cells));
  terminal.print(`\n${NOTES.join('\n')}`);
  const page = resolve(dir, 'report.html');
  terminal.print(page);
  return { out: dir, counts, quarantined: {}, warnings: [], rows, page };
}

/** The demo replaces what an earlier demo left; anything else in the folder is somebody's. */
async function refuseForeign(dir: string): Promise<void> {
  const entries = await readdir(dir).catch((): string[] => []);
  if (entries.length === 0) return;
  const kind = (await interruptedRun(dir))?.kind ?? (entries.includes(MANIFEST_NAME) ? (await readManifest(dir)).kind : undefined);
  if (kind !== 'demo') throw new InputError("holds files that are not a demo's; choose another --out", { file: dir });
}

interface Context {
  dir: string;
  common: { seed: number; force: boolean; quiet: boolean };
  cache: object;
  terminal: Terminal;
}

interface Models {
  drafter: string;
  verifier: string;
}

/** From the training half: the doctor's faults, the verifier's label rows, the drafter's claims. */
async function learnFrom(name: BuiltinName, { data, train }: BuiltinPaths, { dir, common, terminal }: Context): Promise<Counts> {
  terminal.note(`${name}: doctor, label rows, claims of the training half`);
  const checked = await runStep(dataDoctor, { ...common, file: data }, terminal);
  // MuSiQue has no sentence-level facts: its rows are derived from the hops' answers, and marked.
  const derive = name === 'musique' ? { derive: 'answer-sentence' } : {};
  const rows = { ...common, ...derive, file: train, out: join(dir, `labels-${name}`) };
  // Pages are shared between questions here as in the real sets; its warning about them would come three times.
  const labels = await runStep(labelsBuild, rows, quietly(terminal));
  await runStep(claimsBuild, { ...common, file: train, source: 'gold', out: join(dir, `claims-${name}`) }, terminal);
  const { match, partial, null: none } = labels.candidates as { match: number; partial: number; null: number };
  return {
    faults: Object.values(checked.faults as { [kind: string]: number }).reduce((sum, count) => sum + count, 0),
    'label candidates': `${match} match, ${partial} partial, ${none} null`,
  };
}

/** The small verifier on all label rows, the drafter on all claims of the training halves. */
async function trained(names: readonly BuiltinName[], { dir, common, cache, terminal }: Context): Promise<Models> {
  const models = { drafter: join(dir, 'drafter'), verifier: join(dir, 'verifier') };
  terminal.note('small verifier and drafter');
  const labels = names.map((name) => join(dir, `labels-${name}`));
  await runStep(smallTrain, { ...common, ...cache, labels, out: models.verifier }, terminal);
  const claims = join(dir, 'data', 'drafter-claims.jsonl');
  await writeJsonl(claims, claimQuestions(names.map((name) => join(dir, `claims-${name}`))));
  await runStep(drafterTrain, { ...common, ...cache, claims, source: 'gold', out: models.drafter }, quietly(terminal));
  return models;
}

async function* claimQuestions(folders: readonly string[]): AsyncGenerator<{ question_id: string; question: string; claims: string[] }> {
  for (const folder of folders) {
    const byQuestion = new Map<number, { question_id: string; question: string; claims: string[] }>();
    for await (const claim of readTable(folder, await readManifest(folder, 'claims'), 'claims', claimColumns)) {
      const own = byQuestion.get(claim.row) ?? { question_id: claim.question_id, question: claim.question, claims: [] };
      own.claims.push(claimText(claim, CLAIM_TEXT));
      byQuestion.set(claim.row, own);
    }
    yield* byQuestion.values();
  }
}

/** From the other half: search loops, the claims that the gate and the verifier read, embeddings, a verdict for every loop. */
async function searched(name: BuiltinName, files: BuiltinPaths, models: Models, context: Context): Promise<Counts> {
  const { dir, common, cache, terminal } = context;
  const run = join(dir, name);
  terminal.note(`${name}: search loops, claims, embeddings, verdicts of the other half`);
  const flags = { ...common, file: files.test, agent: 'scripted', followups: files.followups, out: run };
  const made = await runStep(trajectoriesRun, flags, quietly(terminal));
  await runStep(claimsBuild, { ...common, file: run, source: 'gold' }, terminal);
  await runStep(embed, { ...common, ...cache, path: run, claims: ['gold'], 'claim-text': [CLAIM_TEXT] }, terminal);
  await runStep(decide, { ...common, ...cache, run, decider: 'small', model: models.verifier, claims: 'gold' }, quietly(terminal));
  return { questions: Number(made.counts.questions), loops: Number(made.counts.loops) };
}

/** Calibration and replay with one kind of gate; a row for each dataset. */
async function gated(
  gate: Gate,
  names: readonly BuiltinName[],
  models: Models,
  { dir, common, cache, terminal }: Context,
): Promise<DemoRow[]> {
  terminal.note(`calibrate and replay: ${gate}`);
  const name = gate.replace(' ', '-');
  const run = names.map((one) => join(dir, one));
  const drafter = gate === 'drafter' ? { ...cache, drafter: models.drafter } : { 'claim-text': CLAIM_TEXT };
  const calibration = join(dir, `calibration-${name}`);
  await runStep(calibrate, { ...common, ...drafter, run, decider: 'small', claims: 'gold', out: calibration }, terminal);
  const profile = join(calibration, 'profile.json');
  await runStep(replay, { ...common, ...(gate === 'drafter' ? drafter : {}), run, profile, out: join(dir, `replay-${name}`) }, terminal);
  return foldRows(calibration, gate);
}

interface DemoRow {
  dataset: string;
  gate: Gate;
  questions: number;
  loops: number;
  calls_always: number;
  calls_gated: number;
  call_cut: number | null;
  agreement: number | null;
  coverage_safety: number | null;
  delta_coverage: number | null;
  tau: number;
  miss: boolean;
}

const HEADER = [
  'dataset', 'gate reads', 'questions', 'loops', 'calls always', 'calls gated', 'call cut', 'agreement', 'coverage safety', 'Δcoverage', 'τ',
]; // prettier-ignore

const NOTES = [
  'The τ of each row was chosen without its dataset. Decider: the small verifier, trained on the other half of the questions. Its claims, the claim text and what the drafter learnt are gold: a demonstration, not a deployment.',
  'Agreement: share of questions that stop at the same loop as with a call after every loop; the bar is 0.9, and a row below it is marked a miss.',
  'Δcoverage: share of questions whose gold claims are all covered at the stop, gate minus full budget.',
];

/** Every fold of a calibration: what its τ, chosen without the dataset, does there. */
async function foldRows(folder: string, gate: Gate): Promise<DemoRow[]> {
  const { folds } = await readProfile(join(folder, 'profile.json'));
  const sums = new Map<string, { loops: number; always: number; gated: number }>();
  for await (const { text } of readLines(join(folder, 'rows.jsonl'))) {
    const row = JSON.parse(text) as { dataset: string; loops: number; always_calls: number; gated_calls: number };
    const sum = sums.get(row.dataset) ?? { loops: 0, always: 0, gated: 0 };
    sums.set(row.dataset, { loops: sum.loops + row.loops, always: sum.always + row.always_calls, gated: sum.gated + row.gated_calls });
  }
  return folds.map(({ target, tau, all, miss }) => {
    const { loops, always, gated } = sums.get(target) as { loops: number; always: number; gated: number };
    return {
      dataset: target,
      gate,
      questions: all.questions.valid,
      loops,
      calls_always: always,
      calls_gated: gated,
      call_cut: all.call_cut.value,
      agreement: all.agreement.value,
      coverage_safety: all.coverage_safety.value,
      delta_coverage: all.delta_coverage.value,
      tau,
      miss,
    };
  });
}

function cellsOf(row: DemoRow): string[] {
  return [
    row.dataset,
    row.gate,
    String(row.questions),
    String(row.loops),
    String(row.calls_always),
    String(row.calls_gated),
    figure(row.call_cut),
    `${figure(row.agreement)}${row.miss ? ' miss' : ''}`,
    figure(row.coverage_safety),
    signed(row.delta_coverage),
    figure(row.tau),
  ];
}

function countsTable(counts: { [dataset: string]: { [name: string]: number | string } }): string {
  const names = Object.keys(Object.values(counts)[0] ?? {});
  return htmlTable(
    ['dataset', ...names],
    Object.entries(counts).map(([dataset, own]) => [dataset, ...names.map((name) => String(own[name]))]),
  );
}

/** For a step whose warnings are about choices that the demo makes for all its datasets alike. */
function quietly(terminal: Terminal): Terminal {
  return { ...terminal, warn: () => undefined };
}
