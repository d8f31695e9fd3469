import type { Profile } from '../../runtime/index.js';
import { InputError } from '../core/errors.js';
import type { Json } from '../core/manifest.js';
import { type DatasetRun, type JoinedRuns, type LogExclusion, type Repeats, fromLog, loggedRuns, readTraffic } from '../evaluate/index.js';
import type { Terminal } from './command.js';
import { type RunFlags, loadRuns, manifestsOf, runOptions, sourcesOf, storedSources } from './run-flags.js';

export interface SourceFlags extends RunFlags {
  'from-log'?: string[];
  'dataset-names'?: string;
  'train-rows'?: number;
}

/** What `calibrate` chooses τ on, wherever it comes from. */
export interface CalibrationSource {
  joined: JoinedRuns;
  inputs: string[];
  /** For the manifest. */
  options: { [name: string]: Json };
  repeats: Repeats | undefined;
  warnings: string[];
  /** Rows of each file that are the training split, where no list says it. */
  trainRows: number;
  /** The loops that were observed, where others are assumed. */
  observed?: readonly DatasetRun[];
  fromLog?: (tau: number) => NonNullable<Profile['from_log']>;
  /** Of a log's sessions, by reason. */
  leftOut?: { [reason in LogExclusion]: number };
}

const DEFAULT_TRAIN_ROWS = 600;

/** Cached runs, or gate logs. Throws InputError where neither or both are given, or a flag that says nothing about logs. */
export async function calibrationSource(flags: SourceFlags, terminal: Terminal): Promise<CalibrationSource> {
  const logs = flags['from-log'];
  if (logs === undefined) {
    if (flags['dataset-names'] !== undefined) throw new InputError('--dataset-names: names the logs of --from-log, and none is given');
    return runSource(flags, terminal);
  }
  if (flags.run.length > 0) throw new InputError('--from-log: expected logs or runs, not both');
  for (const name of Object.keys(runOptions) as (keyof typeof runOptions)[])
    if (flags[name] !== undefined) throw new InputError(`--${name}: a log says it itself; leave it out with --from-log`);
  return logSource(logs, flags);
}

async function runSource(flags: SourceFlags, terminal: Terminal): Promise<CalibrationSource> {
  if (flags.run.length === 0) throw new InputError('expected folders of runs, or gate logs with --from-log');
  if (flags.decider === undefined) throw new InputError('--decider: expected the name of verdicts in RUN/verdicts');
  const sources = sourcesOf(flags);
  const inputs = await manifestsOf(flags.run, sources);
  const joined = await loadRuns(flags.run, sources, flags.repeats, terminal);
  const options = storedSources(sources, joined, flags.repeats);
  return { joined, inputs, options, repeats: flags.repeats, warnings: [], trainRows: flags['train-rows'] ?? DEFAULT_TRAIN_ROWS };
}

async function logSource(logs: readonly string[], flags: SourceFlags): Promise<CalibrationSource> {
  const traffic = await readTraffic(logs, trafficNames(flags['dataset-names']));
  const { runs, joined, observed, repeated, warnings } = loggedRuns(traffic);
  const most = Math.max(1, ...runs.map((run) => run.questions.length));
  const leftOut = {} as { [reason in LogExclusion]: number };
  for (const { excluded } of runs)
    for (const [reason, count] of Object.entries(excluded) as [LogExclusion, number][]) leftOut[reason] = (leftOut[reason] ?? 0) + count;
  return {
    joined,
    observed,
    inputs: [...logs],
    options: { 'from-log': traffic.length, 'dataset-names': traffic.map((one) => one.name) },
    repeats: repeated ? 'rows' : undefined,
    warnings,
    // Own traffic is there to be chosen on; the folds are the held-out part.
    trainRows: flags['train-rows'] ?? most,
    fromLog: (tau) => fromLog(runs, tau),
    leftOut,
  };
}

/** `--dataset-names`: names with commas between them. Throws InputError for an empty one. */
export function trafficNames(text: string | undefined): string[] | undefined {
  const names = text?.split(',').map((one) => one.trim());
  if (names?.some((one) => one === '')) throw new InputError('--dataset-names: expected names with commas between them');
  return names;
}
