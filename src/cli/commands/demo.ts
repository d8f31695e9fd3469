import { readdir } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { writeBuiltinData } from '../../../datasets/builtin/index.js';
import { readProfile } from '../../../runtime/index.js';
import { InputError } from '../../core/errors.js';
import { readLines } from '../../core/jsonl.js';
import { MANIFEST_NAME, readManifest } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { buildReport, figure, htmlParagraphs, htmlTable, readReportSources, signed, textTable } from '../../evaluate/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { runStep } from '../run-step.js';
import { calibrate } from './calibrate.js';
import { claimsBuild } from './claims-build.js';
import { dataDoctor } from './data-doctor.js';
import { decide } from './decide.js';
import { embed } from './embed.js';
import { labelsBuild } from './labels-build.js';
import { replay } from './replay.js';
import { trajectoriesRun } from './trajectories-run.js';

interface Flags extends CommonFlags {
  'cache-dir'?: string;
}

type BuiltinName = keyof Awaited<ReturnType<typeof writeBuiltinData>>;

/** The gate's claims that the demo compares: an upper line with gold labels in it, and what is there without a language model. */
const CLAIMS = [
  { source: 'gold', text: 'subquestion-or-title' },
  { source: 'heuristic', text: 'expected_claim' },
] as const;

export const demo: Command = {
  path: 'demo',
  describe: 'the whole way on built-in data with built-in models: doctor, labels, claims, trajectories, calibration, replay, report',
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
  const common = { seed, force: true, quiet: flags.quiet };
  const cache = flags['cache-dir'] === undefined ? {} : { 'cache-dir': flags['cache-dir'] };
  const counts: { [dataset: string]: { [name: string]: number | string } } = {};
  const runs: string[] = [];
  for (const name of Object.keys(data) as BuiltinName[]) {
    counts[name] = await oneDataset(name, data[name], { dir, common, cache, terminal });
    runs.push(join(dir, name));
  }
  const rows: DemoRow[] = [];
  for (const { source, text } of CLAIMS) {
    terminal.note(`calibrate and replay with ${source} claims`);
    const shared = { ...common, run: runs, decider: 'gold', claims: source, 'claim-text': text };
    await runStep(calibrate, { ...shared, out: join(dir, `calibration-${source}`) }, terminal);
    const profile = join(dir, `calibration-${source}`, 'profile.json');
    await runStep(replay, { ...common, run: runs, profile, out: join(dir, `replay-${source}`) }, terminal);
    rows.push(...(await foldRows(join(dir, `calibration-${source}`), source)));
  }
  const sources = await readReportSources([dir]);
  const cells = rows.map(cellsOf);
  const lead = [
    { heading: 'What the gate saves and costs', body: htmlTable(HEADER, cells) + htmlParagraphs(NOTES) },
    { heading: 'What was built on the way', body: countsTable(counts) },
  ];
  const { html, json } = buildReport('hopgate demo', sources, lead);
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
  if (entries.length === 0 || entries.includes('.unfinished')) return;
  const kind = entries.includes(MANIFEST_NAME) ? (await readManifest(dir)).kind : undefined;
  if (kind !== 'demo') throw new InputError("holds files that are not a demo's; choose another --out", { file: dir });
}

interface DatasetContext {
  dir: string;
  common: { seed: number; force: boolean; quiet: boolean };
  cache: object;
  terminal: Terminal;
}

async function oneDataset(
  name: BuiltinName,
  files: { data: string; followups: string },
  { dir, common, cache, terminal }: DatasetContext,
): Promise<{ [name: string]: number | string }> {
  const into = join(dir, name);
  terminal.note(`${name}: doctor, label rows, trajectories, claims, embeddings, verdicts`);
  const checked = await runStep(dataDoctor, { ...common, file: files.data }, terminal);
  // MuSiQue has no sentence-level facts: its rows are derived from the hops' answers, and marked.
  const derive = name === 'musique' ? { derive: 'answer-sentence' } : {};
  // Pages are shared between questions here as in the real sets; keeping dev's pages out of training costs rows, so the demo does not.
  const labels = await runStep(
    labelsBuild,
    { ...common, ...derive, file: files.data, out: join(dir, `labels-${name}`) },
    quietly(terminal),
  );
  const made = await runStep(
    trajectoriesRun,
    { ...common, file: files.data, agent: 'scripted', followups: files.followups, out: into },
    terminal,
  );
  for (const { source } of CLAIMS) await runStep(claimsBuild, { ...common, file: into, source }, terminal);
  const sources = CLAIMS.map(({ source }) => source);
  const texts = CLAIMS.map(({ text }) => text);
  await runStep(embed, { ...common, ...cache, path: into, claims: sources, 'claim-text': texts }, quietly(terminal));
  await runStep(decide, { ...common, run: into, decider: 'gold' }, terminal);
  const { match, partial, null: none } = labels.candidates as { match: number; partial: number; null: number };
  return {
    questions: Number(made.counts.questions),
    loops: Number(made.counts.loops),
    faults: Object.values(checked.faults as { [kind: string]: number }).reduce((sum, count) => sum + count, 0),
    candidates: `${match} match, ${partial} partial, ${none} null`,
  };
}

interface DemoRow {
  dataset: string;
  gate_claims: string;
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
  'dataset', 'gate claims', 'questions', 'loops', 'calls always', 'calls gated', 'call cut', 'agreement', 'coverage safety', 'Δcoverage', 'τ',
]; // prettier-ignore

const NOTES = [
  'The τ of each row was chosen without its dataset. Decider: gold coverage, a diagnostic that no deployment has; gold claims put gold labels into the gate as well, heuristic claims do not.',
  'Agreement: share of questions that stop at the same loop as with a call after every loop; the bar is 0.9, and a row below it is marked a miss.',
  'Δcoverage: share of questions whose gold claims are all covered at the stop, gate minus full budget.',
];

/** Every fold of a calibration: what its τ, chosen without the dataset, does there. */
async function foldRows(folder: string, source: string): Promise<DemoRow[]> {
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
      gate_claims: source,
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
    row.gate_claims,
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

/** A step's warnings are about choices that the demo makes for all its datasets alike. */
function quietly(terminal: Terminal): Terminal {
  return { ...terminal, warn: () => undefined };
}
