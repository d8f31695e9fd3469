import type { Profile } from '../../runtime/index.js';
import { STOPPED_BY, type StoppedBy } from '../core/gate-log.js';
import { type LogAudits, logAudits } from './log-audits.js';
import { type LogDrift, logDrift } from './log-drift.js';
import { LOG_EXCLUSIONS, type ShadowRun, joinShadowRuns, shadowRun } from './log-runs.js';
import { type ShadowFigures, shadowFigures } from './log-shadow.js';
import { type LogBreakEven, type LogTimes, logBreakEven, logTimes } from './log-times.js';
import type { GateTraffic } from './log-traffic.js';
import { quantiles } from './margin-quantiles.js';
import type { MeasureOptions } from './measures.js';
import { fileSpelling } from './stored-replay.js';
import type { LoopMargins } from './plots.js';

/** One log's questions, and how they ended. */
export interface LogStops {
  name: string;
  sessions: number;
  inShadow: number;
  stoppedBy: Record<StoppedBy, number>;
  /** By bound, where one of the gate's own ended the question. */
  bounds: { [bound: string]: number };
  /** The process ended before the question. */
  unfinished: number;
  loops: number;
  calls: number;
  skips: number;
  /** Lines cut off; lines of questions whose beginning is lost; questions of which other lines are lost. */
  torn: number;
  strays: number;
  gaps: number;
}

export interface LogFigures {
  /** Null: the gates had none, and no profile was given. */
  tau: number | null;
  stops: LogStops[];
  shadow: ShadowFigures[];
  /** Sessions that say nothing about agreement and cut, by name and reason; empty reasons left out. */
  leftOut: { name: string; reasons: { [reason: string]: number } }[];
  audits: LogAudits[];
  /** Null where there is no profile, or one that keeps no first margins. */
  drift: LogDrift[] | null;
  /** Alarms that the gates themselves wrote down while they ran. */
  liveAlarms: { name: string; questions: number; fallsBack: boolean }[];
  times: LogTimes;
  breakEven: LogBreakEven[];
  /** Of the decider, the claims and the encoder, most frequent first. */
  errors: { message: string; count: number }[];
  margins: LoopMargins[];
  runs: ShadowRun[];
}

export interface LogFigureOptions extends Pick<MeasureOptions, 'resamples' | 'seed'> {
  /** Its τ and first margins take the place of what the log's gates had. */
  profile?: Profile | undefined;
  /** Of the drift test. */
  alpha?: number | undefined;
}

/** Everything that a report of gate logs shows. */
export function logFigures(traffic: readonly GateTraffic[], options: LogFigureOptions = {}): LogFigures {
  const { profile, alpha, resamples, seed } = options;
  const tau = profile?.tau ?? traffic.at(-1)?.settings.tau ?? null;
  const runs = joinShadowRuns(traffic.map(({ log, name }) => shadowRun(log, name)));
  const times = logTimes(traffic);
  return {
    tau,
    stops: traffic.map(stopsOf),
    shadow: tau === null ? [] : runs.flatMap((run) => shadowFigures(run, tau, { resamples, seed }) ?? []),
    leftOut: runs.map(({ name, excluded }) => ({
      name,
      reasons: Object.fromEntries(LOG_EXCLUSIONS.filter((reason) => excluded[reason] > 0).map((reason) => [reason, excluded[reason]])),
    })),
    audits: logAudits(traffic),
    drift: profile === undefined ? null : logDrift(traffic, profile, { alpha, seed }),
    liveAlarms: traffic.flatMap(({ log, name }) =>
      log.drifts.map(({ questions, falls_back }) => ({ name, questions, fallsBack: falls_back })),
    ),
    times,
    breakEven: tau === null ? [] : runs.flatMap((run) => logBreakEven(run, tau, times) ?? []),
    errors: errorsOf(traffic),
    margins: marginsOf(traffic),
    runs,
  };
}

/** The figures as `log.json` holds them: without single sessions; reasons and bounds, whose names are the host's words, as lists. */
export function storedLogFigures(figures: LogFigures): { [field: string]: unknown } {
  const list = (counts: { [name: string]: number }): { name: string; count: number }[] =>
    Object.entries(counts).map(([name, count]) => ({ name, count }));
  return fileSpelling({
    ...figures,
    runs: undefined,
    stops: figures.stops.map((one) => ({ ...one, stoppedBy: list(one.stoppedBy), bounds: list(one.bounds) })),
  }) as { [field: string]: unknown };
}

function stopsOf({ name, log }: GateTraffic): LogStops {
  const stoppedBy = Object.fromEntries(STOPPED_BY.map((reason) => [reason, 0])) as Record<StoppedBy, number>;
  const bounds: { [bound: string]: number } = {};
  const counts = { unfinished: 0, loops: 0, calls: 0, skips: 0 };
  for (const { end, loops } of log.sessions) {
    counts.loops += loops.length;
    for (const { asked, decision, because } of loops) {
      if (asked) counts.calls++;
      else if (decision === 'skip' && because === 'gate') counts.skips++;
    }
    if (end === null) counts.unfinished++;
    else {
      stoppedBy[end.stopped_by]++;
      if (end.bound !== null) bounds[end.bound] = (bounds[end.bound] ?? 0) + 1;
    }
  }
  const inShadow = log.sessions.filter(({ open }) => open.mode === 'shadow').length;
  const gaps = log.sessions.filter((one) => one.gap).length;
  return { name, sessions: log.sessions.length, inShadow, stoppedBy, bounds, ...counts, torn: log.torn, strays: log.strays, gaps };
}

function errorsOf(traffic: readonly GateTraffic[]): LogFigures['errors'] {
  const counts = new Map<string, number>();
  for (const { log } of traffic)
    for (const { loops } of log.sessions)
      for (const { error } of loops) if (error !== null) counts.set(error.slice(0, 200), (counts.get(error.slice(0, 200)) ?? 0) + 1);
  return [...counts].map(([message, count]) => ({ message, count })).toSorted((a, b) => b.count - a.count);
}

function marginsOf(traffic: readonly GateTraffic[]): LoopMargins[] {
  const byLoop = new Map<number, number[]>();
  for (const { log } of traffic)
    for (const { loops } of log.sessions)
      for (const { loop, margin } of loops) {
        if (margin === null) continue;
        const known = byLoop.get(loop);
        if (known) known.push(margin);
        else byLoop.set(loop, [margin]);
      }
  return [...byLoop]
    .toSorted(([a], [b]) => a - b)
    .map(([loop, margins]) => ({ loop, quantiles: quantiles(Float64Array.from(margins), [0.1, 0.25, 0.5, 0.75, 0.9]) as never }));
}
