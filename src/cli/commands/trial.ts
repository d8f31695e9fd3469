import { basename, join, resolve } from 'node:path';
import { openRecords } from '../../../datasets/index.js';
import { BUILT_IN_ENCODER, judgeDecider, readProfile } from '../../../runtime/index.js';
import { InputError, shown } from '../../core/errors.js';
import { type Json, MANIFEST_NAME, type Manifest } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { folderNameOf } from '../../core/run-folder.js';
import { buildReport, readReportSources } from '../../evaluate/index.js';
import { openBudget, paidWords, readPrice } from '../../llm/index.js';
import type { JudgeReads } from '../../prompts/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { judgeOptions } from '../decider-flags.js';
import { encoderOptions } from '../encoder-flags.js';
import { type LlmFlags, llmOptions, openModel } from '../llm-flags.js';
import { numberIn, rowRange } from '../number-flags.js';
import { profilePath } from '../profile-path.js';
import { runStep } from '../run-step.js';
import { verifierFolder } from '../verifier-flags.js';
import { calibrate } from './calibrate.js';
import { claimsBuild } from './claims-build.js';
import { decide } from './decide.js';
import { embed } from './embed.js';
import { extract } from './extract.js';
import { inputOptions, openOptions } from './input-options.js';
import { replay } from './replay.js';
import { trajectoriesRun } from './trajectories-run.js';

/** Agents that need no other file than the questions'. */
const AGENTS = ['self-ask', 'flare', 'dragin', 'chain'] as const;

/** Deciders that a trial can ask, and the flag that names the model of those that have one of their own. */
const DECIDERS = { judge: null, verifier: 'verifier', small: 'small', nli: 'nli' } as const;
type TrialDecider = keyof typeof DECIDERS;

/** Folds of a calibration on one dataset. */
const LEAST_QUESTIONS = 5;

const SYSTEMS = 'full,always-verify,gate';

interface Flags extends CommonFlags, LlmFlags {
  file: string;
  deciders: string;
  profile?: string;
  tau?: number;
  [more: string]: unknown;
}

export const trial: Command = {
  path: 'trial <file>',
  describe: 'from a dataset file to a replay table with EM: agent, generated claims, deciders, extraction, threshold, replay',
  epilogue:
    'Runs the stages one after another into --out, all with the language model of --llm. With --resume an interrupted trial goes on, and no reply that had ' +
    'arrived is asked for again. Without --profile or --tau the threshold is chosen on the trial itself, fold by fold.',
  positionals: { file: 'dataset file or records folder' },
  options: {
    ...inputOptions,
    agent: { choices: AGENTS, default: 'self-ask', describe: 'who searches' },
    'force-continue': { type: 'boolean', describe: 'self-ask: goes on after its own stop, up to the budget' },
    constrained: { type: 'boolean', describe: 'claims: bind the reply to a JSON schema where the model can' },
    budget: { type: 'number', describe: 'loops at most (default 6)' },
    top: { type: 'number', default: 3, describe: 'sentences that a query brings at most' },
    rows: { type: 'string', describe: 'only rows A..B of the file' },
    deciders: { type: 'string', default: 'judge', describe: `comma list of ${Object.keys(DECIDERS).join(', ')}` },
    ...judgeOptions,
    verifier: { type: 'string', describe: 'verifier: folder or name of an imported one' },
    small: { type: 'string', describe: 'small: folder of a small verifier' },
    nli: { type: 'string', describe: 'nli: folder of a cross-encoder' },
    profile: { type: 'string', describe: 'calibration profile that gives the gate its threshold, knowingly transferred' },
    tau: { type: 'number', describe: "the gate's threshold instead of a chosen one" },
    ...encoderOptions,
    ...llmOptions,
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

interface Trial {
  flags: Flags;
  dir: string;
  /** The run folder, with everything that is made from it. */
  folder: string;
  /** What every stage is told. */
  common: { [flag: string]: unknown };
  /** Of all stages, each once. */
  warnings: Set<string>;
  /** What this process paid the language model, over all stages. */
  work: { [name: string]: number };
  terminal: Terminal;
}

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  if (flags.out === undefined) throw new InputError('--out: expected a folder for the trial');
  if (flags.profile !== undefined && flags.tau !== undefined) throw new InputError('--tau and --profile: expected one of them');
  if (flags.llm === undefined) throw new InputError('--llm: expected a model: it writes the claims and extracts the answers');
  if (flags.tau !== undefined) numberIn('tau', flags.tau, [-1, 2]);
  const dir = flags.out;
  const deciders = decidersOf(flags);
  const inputs = await inputsOf(flags, deciders, terminal);
  const out = await openOutputFolder({
    dir,
    kind: 'trial',
    command: 'trial',
    options: optionsOf(flags),
    seed: flags.seed,
    inputs,
    resume: flags.resume,
    force: flags.force,
  });
  if (out.finished) return ended(dir, out.finished, terminal);
  // One ledger for all stages: a budget is the trial's.
  const ledger = out.temporary('paid.ledger');
  const common = { seed: flags.seed, resume: flags.resume, force: flags.force, quiet: flags.quiet, ledger };
  const trialled: Trial = { flags, dir, folder: join(dir, 'run'), common, warnings: new Set(), work: {}, terminal };

  if (deciders.includes('judge')) await checkJudge(trialled);
  const counts = await searched(trialled);
  const { encoder, extractor } = await prepared(trialled);
  const made: string[] = [];
  for (const decider of deciders) made.push(...(await judged(decider, { encoder, extractor }, trialled)));
  const { html, json } = await buildReport(`hopgate trial: ${basename(flags.file)}`, await readReportSources(made));
  await out.file('report.html', html);
  await out.file('report.json', `${JSON.stringify(json, null, 2)}\n`);
  const price = flags.prices === undefined ? undefined : await readPrice(flags.prices, flags.llm);
  const paid = await openBudget({ price, ledger, onDamaged: (message) => terminal.warn(message) }).paid();
  const warnings = [...trialled.warnings];
  const manifest = await out.finish({ counts, warnings, details: { deciders: [...deciders], encoder, extractor } });
  terminal.print(`${paidWords(paid)}, over all stages and resumes`);
  return { ...ended(dir, manifest, terminal), paid, work: trialled.work };
}

/** A judge that cannot judge is found out before anything else is paid for; its replies are in the cache when its turn comes. */
async function checkJudge({ flags, dir, common, terminal }: Trial): Promise<void> {
  const model = await openModel({ ...flags, ledger: common.ledger as string }, { ...terminal, note: () => undefined }, { dir });
  try {
    const reads = (flags['judge-reads'] as JudgeReads | undefined) ?? (flags.agent === 'self-ask' ? 'sub_answers' : 'sentences');
    const judge = judgeDecider(model, { reads, allowWrongPolarity: flags['allow-wrong-polarity'] === true });
    await judge.prepare?.(noQuestions(), { signal: terminal.signal });
  } finally {
    await model.close();
  }
}

async function* noQuestions(): AsyncGenerator<never> {}

/** The agent's loops. */
async function searched(trialled: Trial): Promise<{ questions: Json; loops: Json }> {
  const { flags, folder, terminal } = trialled;
  terminal.note(`${String(flags.agent)} on ${flags.file}`);
  const own = flags.agent === 'chain' ? {} : { ...given(flags, Object.keys(llmOptions)), ...given(flags, ['force-continue']) };
  const asked = given(flags, [...Object.keys(inputOptions), 'agent', 'budget', 'top', 'rows']);
  const { counts } = await step(trialled, trajectoriesRun, { ...asked, ...own, file: flags.file, out: folder });
  return { questions: counts.questions as Json, loops: counts.loops as Json };
}

/** Claims, embeddings, and an answer for every loop. */
async function prepared(trialled: Trial): Promise<{ encoder: string; extractor: string }> {
  const { flags, folder, terminal } = trialled;
  const llm = given(flags, Object.keys(llmOptions));
  terminal.note('claims');
  await step(trialled, claimsBuild, { ...llm, ...given(flags, ['constrained']), file: folder, source: 'generated' });
  terminal.note('embeddings');
  const embedded = await step(trialled, embed, {
    encoder: BUILT_IN_ENCODER,
    ...given(flags, Object.keys(encoderOptions)),
    path: folder,
    what: ['claims,evidence'],
  });
  terminal.note('answers');
  const extractor = 'trial';
  await step(trialled, extract, { ...llm, run: folder, name: extractor });
  return { encoder: folderNameOf((embedded.encoder as { name: string }).name), extractor };
}

/** A decider's verdicts, the gate's threshold under it, and the table of both; the folders that the report is made of. */
async function judged(decider: TrialDecider, names: { encoder: string; extractor: string }, trialled: Trial): Promise<string[]> {
  const { flags, dir, folder, terminal } = trialled;
  terminal.note(`verdicts of ${decider}`);
  await step(trialled, decide, { ...deciderFlags(decider, flags), run: folder, decider });
  const read = { run: [folder], decider, claims: 'generated', encoder: names.encoder };
  const made: string[] = [];
  let threshold: { profile?: string; tau?: number; transfer?: true };
  if (flags.tau !== undefined) threshold = { tau: flags.tau };
  else if (flags.profile !== undefined) threshold = { profile: flags.profile, transfer: true };
  else {
    const profile = join(dir, `calibration-${decider}`);
    await step(trialled, calibrate, { ...read, out: profile });
    made.push(profile);
    threshold = { profile };
  }
  const out = join(dir, `replay-${decider}`);
  terminal.print(`\n${decider}`);
  await step(trialled, replay, { ...read, ...threshold, extractor: [names.extractor], systems: SYSTEMS, out }, { prints: true });
  return [...made, out];
}

/** Runs a stage and keeps what it warns of. */
async function step(
  { common, warnings, work, terminal }: Trial,
  command: Command,
  flags: { [flag: string]: unknown },
  options: { prints?: boolean } = {},
): Promise<CommandResult> {
  const result = await runStep(command, { ...common, ...flags }, terminal, options);
  for (const warning of result.warnings) warnings.add(warning);
  if (result.model !== undefined) {
    for (const [name, value] of Object.entries(result.work as { [name: string]: unknown }))
      if (typeof value === 'number') work[name] = (work[name] ?? 0) + value;
  }
  return result;
}

function deciderFlags(decider: TrialDecider, flags: Flags): { [flag: string]: unknown } {
  switch (decider) {
    case 'judge':
      return given(flags, [...Object.keys(llmOptions), 'judge-reads', 'allow-wrong-polarity']);
    case 'small':
      return { model: flags.small, claims: 'generated', ...given(flags, Object.keys(encoderOptions)) };
    case 'verifier':
      return { model: flags.verifier, claims: 'generated', ...given(flags, ['model-dir']) };
    case 'nli':
      return { model: flags.nli, claims: 'generated' };
  }
}

function decidersOf(flags: Flags): TrialDecider[] {
  const names = flags.deciders.split(',').map((one) => one.trim());
  const wrong = names.find((one, at) => !(one in DECIDERS) || names.indexOf(one) < at);
  if (wrong !== undefined)
    throw new InputError(`--deciders: got ${shown(wrong)}, expected a comma list of ${Object.keys(DECIDERS).join(', ')}, each once`);
  for (const [name, flag] of Object.entries(DECIDERS)) {
    if (flag === null) continue;
    if (names.includes(name) && flags[flag] === undefined) throw new InputError(`--${flag}: expected the model of --deciders ${name}`);
    if (!names.includes(name) && flags[flag] !== undefined) throw new InputError(`--${flag}: of no use without ${name} in --deciders`);
  }
  return names as TrialDecider[];
}

/** Flags that change nothing in a trial's results, and those whose files stand in its inputs. */
const IDLE = new Set([
  'llm-url', 'llm-key-env', 'llm-timeout', 'llm-retries', 'llm-threads', 'concurrency', 'budget-calls', 'budget-tokens', 'budget-cost', 'prices',
  'reply-cache', 'cache-dir', 'model-dir', 'encoder-url', 'encoder-key-env', 'profile', 'verifier', 'small', 'nli', 'strict',
]); // prettier-ignore

/** What an interrupted trial has to be gone on with, and a finished one has to have been asked for. */
function optionsOf(flags: Flags): { [name: string]: Json } {
  const moving = Object.keys(trial.options).filter((name) => !IDLE.has(name));
  const options = given(flags, moving) as { [name: string]: Json };
  for (const name of ['llm', 'encoder']) if (name in options) options[name] = basename(String(options[name]));
  options.served_encoder = flags['encoder-url'] !== undefined;
  return options;
}

/** The threshold is chosen on the trial's own questions, fold by fold: too few are said to be before anything is paid for. */
async function checkEnough(records: AsyncIterable<{ row: number }>, flags: Flags): Promise<void> {
  const { from, to } = rowRange(flags.rows as string | undefined);
  let found = 0;
  for await (const { row } of records) if (row >= from && row < to && ++found >= LEAST_QUESTIONS) return;
  throw new InputError(
    `got ${found} usable questions, expected at least ${LEAST_QUESTIONS} to choose a threshold on; with --tau or --profile fewer will do`,
    { file: flags.file },
  );
}

/** The dataset's files, the profile, and what vouches for each decider's own model. */
async function inputsOf(flags: Flags, deciders: readonly TrialDecider[], terminal: Terminal): Promise<string[]> {
  const nothing = { update: () => undefined, done: () => undefined };
  const { inputs, records } = await openRecords(flags.file, openOptions(flags, terminal, nothing));
  if (flags.tau === undefined && flags.profile === undefined) await checkEnough(records, flags);
  const files = [...inputs];
  if (flags.profile !== undefined) {
    await readProfile(await profilePath(flags.profile));
    files.push(await profilePath(flags.profile));
  }
  for (const decider of deciders) {
    if (decider === 'verifier')
      files.push(join(await verifierFolder(String(flags.verifier), flags['model-dir'] as string | undefined), MANIFEST_NAME));
    if (decider === 'small') files.push(join(String(flags.small), MANIFEST_NAME));
    if (decider === 'nli') files.push(join(String(flags.nli), 'config.json'));
  }
  return files;
}

/** Those of the flags that were given. */
function given(flags: Flags, names: readonly string[]): { [flag: string]: unknown } {
  return Object.fromEntries(names.filter((name) => flags[name] !== undefined).map((name) => [name, flags[name]]));
}

function ended(dir: string, { counts, warnings }: Manifest, terminal: Terminal): CommandResult {
  const page = resolve(dir, 'report.html');
  terminal.print(page);
  return { out: dir, counts, quarantined: {}, warnings, page };
}
