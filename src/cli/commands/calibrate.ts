import { type Profile, profileText } from '../../../runtime/index.js';
import { InputError, shown } from '../../core/errors.js';
import { openOutputFolder } from '../../core/output-folder.js';
import {
  type Calibration,
  type CalibrationOptions,
  CONSTRAINTS,
  type Constraint,
  type FrontierPoint,
  type JoinedRuns,
  type SafetyReference,
  type TauGrid,
  type TrainList,
  calibrate as calibrateRuns,
  evaluationRows,
  explainProfile,
  extentWords,
  foldTable,
  frontier,
  frontierPoints,
  guaranteeWords,
  isDiagnostic,
  learntWarnings,
  logWords,
  makeProfile,
  readTrainList,
  selectionWords,
  thresholdCurve,
} from '../../evaluate/index.js';
import { type CalibrationSource, type SourceFlags, calibrationSource } from '../calibration-source.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { wholeNumber } from '../number-flags.js';
import { runOptions } from '../run-flags.js';

interface Flags extends CommonFlags, SourceFlags {
  target?: string;
  'own-questions'?: boolean;
  bar: number;
  guarantee?: number;
  'train-split'?: string;
  'safety-reference': string;
  constraint: Constraint;
  grid: string;
  resamples: number;
}

/** Agreement bars of the frontier table. */
const BARS = [0.8, 0.85, 0.9, 0.92, 0.95, 0.98, 1] as const;
/** Points of each frontier that are stored for plots; the bars' own are exact. */
const STORED_POINTS = 400;

export const calibrate: Command = {
  path: 'calibrate [run..]',
  describe: "chooses the gate's threshold, leaving one dataset out at a time; on cached runs, or on a gate's own logs",
  epilogue:
    'Each RUN is a finished run with claims, embeddings and verdicts beside it; runs of one dataset are joined in the order given. ' +
    'With --from-log the questions are those that a gate logged in shadow: one log is cut into folds, several are held out in turn. ' +
    'Writes profile.json, frontier.json, folds.json and rows.jsonl.',
  positionals: { run: 'folders of runs' },
  options: {
    ...runOptions,
    'from-log': { type: 'string', array: true, describe: 'gate logs (JSON lines) instead of runs' },
    'dataset-names': {
      type: 'string',
      describe: "names of the logs' traffic, with commas (default: the label in the log, else its file's name)",
    },
    target: { type: 'string', describe: 'hold out this dataset alone; τ comes from all others' },
    'own-questions': {
      type: 'boolean',
      describe: 'with --target: its training split (--train-rows, --train-split) chooses τ too, the other datasets are the prior',
    },
    bar: { type: 'number', default: 0.9, describe: 'least stop-loop agreement' },
    guarantee: { type: 'number', describe: 'δ: agreement ≥ bar with probability 1 − δ on questions like these (Learn-then-Test)' },
    'train-split': { type: 'string', describe: 'JSON lines {question_id, dataset?}: the training questions' },
    'train-rows': { type: 'number', describe: 'without --train-split: the first rows of each file (default 600; of a log all)' },
    'safety-reference': { type: 'string', default: 'own', describe: "own: always-verify's coverage safety; a number in [0, 1]; none" },
    constraint: { choices: CONSTRAINTS, default: 'per-dataset', describe: 'hold both constraints on each dataset, or pooled' },
    grid: { type: 'string', default: '0.005', describe: 'candidates for τ: a step, or exact (all distinct margins)' },
    resamples: { type: 'number', default: 10_000, describe: 'of the paired bootstrap' },
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  if (flags.out === undefined) throw new InputError('--out: expected a folder for the profile');
  const dir = flags.out;
  const settings = await calibrationOptions(flags);
  const source = await calibrationSource(flags, terminal);
  const { joined, repeats } = source;
  const { trainList } = settings;
  const options = { ...settings.options, trainRows: wholeNumber('train-rows', source.trainRows) };
  // Before the folder is opened: what turns out to be no use leaves nothing behind.
  const calibration = calibrateRuns(joined.datasets, options);
  const trainListSha256 = trainList?.sha256 ?? null;
  const unmatched = trainList?.unmatched(joined.datasets) ?? [];
  if (unmatched.length > 0)
    calibration.warnings.push(
      `--train-split: ${unmatched.length} of its questions are not among the valid ones of these runs, the first ${shown(unmatched[0])}`,
    );
  calibration.warnings.push(...source.warnings, ...learntWarnings(joined.datasets));
  const { seed, resamples } = flags;
  const { observed } = source;
  const origin = { options, repeats, trainListSha256, seed, resamples, observed, fromLog: source.fromLog?.(calibration.tau) };
  const profile = makeProfile(calibration, joined, origin);
  const frontiers = frontiersOf(joined);
  const out = await openOutputFolder({
    dir,
    kind: 'calibration',
    command: 'calibrate',
    options: {
      ...source.options,
      target: flags.target ?? null,
      ...(flags['own-questions'] && { 'own-questions': true }),
      bar: flags.bar,
      guarantee: flags.guarantee ?? null,
      'train-split': trainListSha256,
      'train-rows': flags['train-split'] === undefined ? options.trainRows : null,
      'safety-reference': flags['safety-reference'],
      constraint: flags.constraint,
      grid: flags.grid,
      resamples: flags.resamples,
    },
    seed: flags.seed,
    inputs: [...source.inputs, ...(flags['train-split'] === undefined ? [] : [flags['train-split']])],
    resume: flags.resume,
    force: flags.force,
  });
  if (!out.finished) {
    await out.file('profile.json', profileText(profile));
    await out.file('frontier.json', json({ bars: [...BARS], datasets: frontiers }));
    await out.file('folds.json', json({ mode: profile.mode, bar: profile.bar, folds: profile.folds }));
    await out.file('explanation.txt', `${explainProfile(profile)}\n`);
    await out.jsonl('rows.jsonl', evaluationRows(joined.datasets, calibration, options));
    await out.finish({
      counts: countsOf(calibration, source),
      warnings: calibration.warnings,
      details: { tau: profile.tau, extent: profile.extent, mode: profile.mode },
    });
  }
  print(profile, frontiers, terminal);
  return {
    out: dir,
    counts: countsOf(calibration, source),
    quarantined: {},
    warnings: calibration.warnings,
    profile: 'profile.json',
    tau: profile.tau,
    extent: profile.extent,
    mode: profile.mode,
    selection: profile.selection,
    guarantee: profile.guarantee,
    ...(profile.from_log && { from_log: profile.from_log }),
    folds: profile.folds,
    frontier: frontiers.map(({ dataset, bars }) => ({ dataset, bars })),
  };
}

async function calibrationOptions(flags: Flags): Promise<{ options: CalibrationOptions; trainList: TrainList | undefined }> {
  const { bar, guarantee } = flags;
  if (!(bar > 0 && bar <= 1)) throw new InputError(`--bar: got ${shown(bar)}, expected a number in (0, 1]`);
  if (guarantee !== undefined && !(guarantee > 0 && guarantee < 1)) {
    throw new InputError(`--guarantee: got ${shown(guarantee)}, expected a number in (0, 1)`);
  }
  if (guarantee !== undefined && bar === 1) throw new InputError('--guarantee: no finite number of questions guarantees a bar of 1');
  const list = flags['train-split'] === undefined ? undefined : await readTrainList(flags['train-split']);
  const resamples = wholeNumber('resamples', flags.resamples, 39);
  return {
    options: {
      bar,
      delta: guarantee,
      constraint: flags.constraint,
      safetyReference: safetyReference(flags['safety-reference']),
      grid: gridOf(flags.grid),
      inTraining: list?.inTraining,
      target: flags.target,
      ownQuestions: flags['own-questions'] ?? false,
      resamples,
      seed: flags.seed,
    },
    trainList: list,
  };
}

function safetyReference(text: string): SafetyReference {
  if (text === 'own' || text === 'none') return text;
  const value = text.trim() === '' ? NaN : Number(text);
  if (!(value >= 0 && value <= 1)) throw new InputError(`--safety-reference: got ${shown(text)}, expected own, none or a number in [0, 1]`);
  return value;
}

function gridOf(text: string): TauGrid {
  if (text === 'exact') return text;
  const value = text.trim() === '' ? NaN : Number(text);
  if (!(value >= 1e-6 && value <= 2)) throw new InputError(`--grid: got ${shown(text)}, expected exact or a step in [0.000001, 2]`);
  return value;
}

interface StoredPoint {
  tau: number;
  call_cut: number;
  agreement: number;
  coverage_safety: number | null;
}

interface DatasetFrontier {
  dataset: string;
  questions: number;
  bars: ({ bar: number } & StoredPoint)[];
  points: StoredPoint[];
}

function frontiersOf({ datasets }: JoinedRuns): DatasetFrontier[] {
  return datasets.map(({ dataset, questions }) => {
    const curve = thresholdCurve(questions);
    return {
      dataset,
      questions: questions.length,
      bars: frontier(curve, BARS).map(({ bar, best }) => Object.assign({ bar }, stored(best))),
      points: frontierPoints(curve, STORED_POINTS).map(stored),
    };
  });
}

function stored({ tau, callCut, agreement, coverageSafety }: FrontierPoint): StoredPoint {
  return { tau, call_cut: callCut, agreement, coverage_safety: coverageSafety };
}

function countsOf(
  { folds }: Calibration,
  { joined: { datasets }, leftOut }: CalibrationSource,
): { [name: string]: number | { [name: string]: number } } {
  const excluded = { no_claims: 0, no_loop: 0, undecided: 0, repeated: 0 };
  for (const run of datasets)
    for (const reason of Object.keys(excluded) as (keyof typeof excluded)[]) excluded[reason] += run.excluded[reason];
  return {
    datasets: datasets.length,
    rows: datasets.reduce((sum, run) => sum + run.rows, 0),
    questions: datasets.reduce((sum, run) => sum + run.questions.length, 0),
    excluded,
    loops: datasets.reduce((sum, run) => sum + run.questions.reduce((loops, one) => loops + one.margins.length, 0), 0),
    folds: folds.length,
    misses: folds.filter((fold) => fold.miss).length,
    ...(leftOut && { sessions_left_out: leftOut }),
  };
}

function print(profile: Profile, frontiers: readonly DatasetFrontier[], terminal: Terminal): void {
  const extent = extentWords(profile.extent);
  terminal.print(`τ = ${profile.tau} (${profile.mode}; chosen on ${profile.trained_on.join(', ')})`);
  if (extent !== null) terminal.print(extent);
  for (const words of [...selectionWords(profile), ...logWords(profile), ...guaranteeWords(profile)]) terminal.print(words.trimStart());
  if (isDiagnostic(profile)) terminal.print('Diagnostic: gold labels are in the claims or the decider.');
  terminal.print(`\n${foldTable(profile)}\n`);
  for (const { dataset, bars } of frontiers) {
    const best = bars.find((one) => one.bar === profile.bar) ?? bars.find((one) => one.bar === 0.9);
    if (best) terminal.print(`frontier of ${dataset}: call cut ${best.call_cut.toFixed(3)} at agreement ≥ ${best.bar} (τ ${best.tau})`);
  }
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
