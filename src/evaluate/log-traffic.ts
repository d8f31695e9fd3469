import { basename } from 'node:path';
import { type GateLine, type GateLog, type GateSettings, type LoggedSession, readGateLog } from '../core/gate-log.js';
import { InputError, shown } from '../core/errors.js';
import { canonicalJson, hashFile } from '../core/hash.js';

/** One gate log: what a gate, or the same gate in one process after another, wrote down. */
export interface GateTraffic {
  /** Given by the user, else the header's label, else the file's name without its ending. */
  name: string;
  file: string;
  sha256: string;
  bytes: number;
  log: GateLog;
  /** Of the last header: what the margins and verdicts belong to is the same in all of them. */
  settings: GateSettings;
}

/** What margins and verdicts belong to; lines that differ in it are not of one traffic. */
const IDENTITY = [
  'encoder',
  'aggregation',
  'policy',
  'claim_source',
  'claim_text',
  'drafter_sha256',
  'evidence_text',
  'splitter',
  'decider',
] as const satisfies readonly (keyof GateSettings)[];

/**
 * Reads gate logs. `names` are what their traffics are called, in order; logs of one name are joined later, as runs of one dataset are.
 * Throws InputError for a file that is no gate log or holds no header, for logs of different gates (named by the first setting that differs),
 * and for other names than logs.
 */
export async function readTraffic(files: readonly string[], names?: readonly string[]): Promise<GateTraffic[]> {
  if (files.length === 0) throw new InputError('no gate log was given');
  if (names && names.length !== files.length)
    throw new InputError(`--dataset-names: got ${names.length} names, expected ${files.length}, one for each log`);
  const traffic: GateTraffic[] = [];
  for (const [at, file] of files.entries()) {
    const log = await readGateLog(file);
    const { sha256, bytes } = await hashFile(file);
    const twin = traffic.find((one) => one.sha256 === sha256);
    if (twin) throw new InputError(`has the same content as ${twin.file}, which is given too: it would count twice`, { file });
    traffic.push({ ...trafficOf(log, { file, name: names?.[at] }), file, sha256, bytes });
  }
  const first = traffic[0] as GateTraffic;
  for (const one of traffic) sameGate(first, one);
  return traffic;
}

/** The same of a log that is at hand. `file` is for its name and messages. */
export function trafficOf(
  log: GateLog,
  { file, name }: { file: string; name?: string | undefined },
): Omit<GateTraffic, 'sha256' | 'bytes'> {
  const headers = [...log.gates.values()];
  const last = headers.at(-1);
  if (!last) throw new InputError('no header of a gate in this file, so nothing says what its lines belong to', { file });
  for (const header of headers) {
    const field = firstDifference(last.settings, header.settings);
    if (field === undefined) continue;
    throw new InputError(
      `${field} differs between two headers of this log: ${shown(header.settings[field])} and ${shown(last.settings[field])}; a log for each gate keeps them apart`,
      { file },
    );
  }
  return { name: name ?? last.label ?? basename(file).replace(/\.\w+$/, ''), file, log, settings: last.settings };
}

/** Lines that a kill or a full disk cut off are left out, and said; the traffic's name stands for the file, whose path is no part of a result. */
export function tornWarnings(traffic: readonly GateTraffic[]): string[] {
  return traffic.flatMap(({ name, log: { torn } }) =>
    torn === 0 ? [] : [`${name}: ${torn} ${torn === 1 ? 'line was' : 'lines were'} cut off by a kill or a full disk, and left out`],
  );
}

/** The header that a session was opened under. */
export function headerOf(log: GateLog, session: LoggedSession): GateLine {
  return log.gates.get(session.open.gate) as GateLine;
}

function sameGate(first: GateTraffic, other: GateTraffic): void {
  const field = firstDifference(first.settings, other.settings);
  if (field === undefined) return;
  throw new InputError(
    `${field} differs between the logs: ${first.file} has ${shown(first.settings[field])}, ${other.file} has ${shown(other.settings[field])}; one report or calibration is about one gate`,
  );
}

function firstDifference(a: GateSettings, b: GateSettings): (typeof IDENTITY)[number] | undefined {
  return IDENTITY.find((field) => canonicalJson(a[field]) !== canonicalJson(b[field]));
}
