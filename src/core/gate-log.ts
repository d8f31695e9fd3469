import { z } from 'zod';
import { CLAIM_SOURCES, CLAIM_TEXTS } from './claims.js';
import { EVIDENCE_TEXTS, encoderIdentity } from './embeddings.js';
import { readLines } from './jsonl.js';
import { parsedLine } from './parse.js';

/** What ended a question's run (known fault P88): a break by a bound is not a completion, and never said to be one. */
export const STOPPED_BY = ['covered', 'budget', 'maxSteps', 'noProgress', 'error', 'hostFinished'] as const;
export type StoppedBy = (typeof STOPPED_BY)[number];

/** Which of the gate's own bounds was reached: `maxCalls`, `maxTokens` and `maxMillis` stop by `budget`. */
export const BOUNDS = ['maxSteps', 'maxCalls', 'maxTokens', 'maxMillis', 'noProgress'] as const;
export type Bound = (typeof BOUNDS)[number];

/** `shadow`: the decider is always called and the gate only watches. `enforce`: the gate's skips are not called. */
export const GATE_MODES = ['shadow', 'enforce'] as const;
export type GateMode = (typeof GATE_MODES)[number];

/**
 * Why the decider was asked, or was not, after a loop: the gate's word (`gate`), because the gate cannot speak (`no_claims`, or
 * `no_margin` where the encoder failed), because the question runs in shadow (`shadow`), as an audit of a skip (`audit`), because drift made the
 * gate fall back (`drift`), or not at all since a bound was reached (`stopped`).
 */
export const ASKED_BECAUSE = ['gate', 'no_claims', 'no_margin', 'shadow', 'audit', 'drift', 'stopped'] as const;
export type AskedBecause = (typeof ASKED_BECAUSE)[number];

const duration = z.number().nonnegative();
const count = z.int().nonnegative();

/** Null: none. */
const loggedBounds = z.strictObject({
  maxSteps: z.nullable(count),
  maxCalls: z.nullable(count),
  maxTokens: z.nullable(count),
  maxMillis: z.nullable(duration),
  noProgress: z.nullable(count),
});

/** Everything that a log's margins and verdicts belong to; logs that differ in it are not one traffic. */
export const gateSettings = z.strictObject({
  mode: z.enum(GATE_MODES),
  /** Of the profile's text; null where the gate has none (shadow only). */
  profile_sha256: z.nullable(z.string()),
  tau: z.nullable(z.number()),
  encoder: encoderIdentity,
  aggregation: z.enum(['max', 'top2', 'softmax3']),
  policy: z.enum(['all_match', 'any_match']),
  claim_source: z.enum(CLAIM_SOURCES),
  claim_text: z.nullable(z.enum(CLAIM_TEXTS)),
  drafter_sha256: z.nullable(z.string()),
  evidence_text: z.enum(EVIDENCE_TEXTS),
  /** Name and version of what splits text into sentences. */
  splitter: z.string(),
  decider: z.strictObject({ name: z.string(), identity: z.json(), reads_claims: z.boolean() }),
  /** Differences from the profile under which it is knowingly applied. */
  transferred: z.array(z.string()),
  /** Of a question, unless its own line says another. */
  bounds: loggedBounds,
  on_error: z.enum(['continue', 'stop', 'throw']),
  /** Shares of skips that are called all the same, and of questions that stay in shadow, under `enforce`. */
  audit: z.strictObject({ skips: z.number().min(0).max(1), questions: z.number().min(0).max(1) }),
  seed: z.int(),
  /** Whether the lines hold questions, queries and sentences. */
  content: z.boolean(),
});
export type GateSettings = z.infer<typeof gateSettings>;

const gateLine = z.strictObject({
  event: z.literal('gate'),
  kind: z.literal('hopgate gate log'),
  format_version: z.literal(1),
  product: z.string(),
  /** The first 16 digits of the sha256 of the settings' canonical JSON and the label; lines of sessions name it. */
  gate: z.string(),
  /** What this traffic is called; takes the place of a dataset's name in calibration. */
  label: z.nullable(z.string()),
  settings: gateSettings,
});

const openLine = z.strictObject({
  event: z.literal('open'),
  gate: z.string(),
  session: z.string(),
  /** Milliseconds since 1970 by the host's clock. */
  at: z.number(),
  /** The host's own id of the question. */
  question_id: z.nullable(z.string()),
  question: z.nullable(z.string()),
  /** This question's; under `enforce` a drawn share runs in shadow. */
  mode: z.enum(GATE_MODES),
  /** The agent goes on to the end of its budget whatever the decider says, so that all loops are observed. */
  run_on: z.boolean(),
  /** Steps that this question may take at most; null where none is set. */
  budget: z.nullable(count),
  /** All bounds of this question; `budget` is the one on steps. */
  bounds: loggedBounds,
  /** K of the margin; 0: the gate cannot speak. */
  claims: count,
  /** The texts that the margin is made of; null without content, and where slots are drafted. */
  claim_texts: z.nullable(z.array(z.string())),
});

/** Claims were made for this question: those of the margin when it was opened, or, where a drafter makes the margin, the decider's at its first call. */
const claimsLine = z.strictObject({
  event: z.literal('claims'),
  session: z.string(),
  /** The loop at whose call they were made; 0 for claims that the margin needs from the start. */
  loop: count,
  k: count,
  ms: duration,
});

const loopLine = z.strictObject({
  event: z.literal('loop'),
  session: z.string(),
  /** One-based. */
  loop: z.int().positive(),
  query: z.nullable(z.string()),
  /** Sentences that this loop newly brought. */
  new_sentences: count,
  sentences: z.nullable(z.array(z.strictObject({ title: z.string(), text: z.string() }))),
  /** State margin; null where the gate cannot speak. */
  margin: z.nullable(z.number()),
  per_claim: z.array(z.number()),
  /** What the gate says at its τ; null without a τ. */
  decision: z.nullable(z.enum(['skip', 'call', 'abstain'])),
  asked: z.boolean(),
  because: z.enum(ASKED_BECAUSE),
  /** The decider's word; null where it was not asked, failed, or never answered; false without a call where there are no claims. */
  covered: z.nullable(z.boolean()),
  p: z.nullable(z.number()),
  /** By claim, where the decider rules claim by claim. */
  matched: z.nullable(z.array(z.boolean())),
  /** What failed at this loop: the decider, its claims, or the encoder, whose failure may stand beside a verdict. */
  error: z.nullable(z.string()),
  /** Time of the host before this loop's evidence came: its follow-up and its search. */
  host_ms: duration,
  /** Encoding and margin. */
  gate_ms: duration,
  decider_ms: z.nullable(duration),
  /** Claim–sentence pairs that the call scored; null where the decider scores none. */
  pairs: z.nullable(count),
  /** Tokens that the decider took, as far as it says. */
  decider_tokens: count,
  /** What stopped the run at this loop; null where it goes on. */
  stopped_by: z.nullable(z.enum(STOPPED_BY)),
});

/** How a question's run went. */
export const gateEnd = z.strictObject({
  event: z.literal('end'),
  session: z.string(),
  stopped_by: z.enum(STOPPED_BY),
  bound: z.nullable(z.enum(BOUNDS)),
  loops: count,
  calls: count,
  skips: count,
  audits: count,
  errors: count,
  /** The host's (as it said) and the decider's. */
  tokens: count,
  sentences: count,
  /** From opening to end. */
  ms: duration,
});

/** Drift was noticed, once a gate: its live margins have left those that τ was chosen on. */
const driftLine = z.strictObject({
  event: z.literal('drift'),
  gate: z.string(),
  at: z.number(),
  questions: count,
  /** The test's betting capital; the alarm is at 1 / alpha. */
  capital: z.number(),
  alpha: z.number(),
  falls_back: z.boolean(),
});

export const gateEvent = z.discriminatedUnion('event', [gateLine, openLine, claimsLine, loopLine, gateEnd, driftLine]);
export type GateEvent = z.infer<typeof gateEvent>;
export type GateLine = z.infer<typeof gateLine>;
export type GateOpen = z.infer<typeof openLine>;
export type GateClaims = z.infer<typeof claimsLine>;
export type GateLoop = z.infer<typeof loopLine>;
export type GateEnd = z.infer<typeof gateEnd>;
export type GateDrift = z.infer<typeof driftLine>;

/** One question's run as its lines tell it. */
export interface LoggedSession {
  open: GateOpen;
  claims: GateClaims | null;
  loops: GateLoop[];
  /** Null where the process ended before the question did. */
  end: GateEnd | null;
  /** Lines of it are gone: nothing that is counted from its loops holds. */
  gap: boolean;
}

export interface GateLog {
  gates: Map<string, GateLine>;
  sessions: LoggedSession[];
  drifts: GateDrift[];
  /** Lines that a kill or a full disk cut off. */
  torn: number;
  /** Events of a session or gate whose beginning is gone. */
  strays: number;
}

/**
 * Reads a gate log, whose lines of different sessions stand among each other. Lines may be missing or torn, where a process was killed or its disk was
 * full: they are counted, and a session of which some are gone has a `gap`. Throws InputError naming the line for JSON that is no event, and
 * for a file without any whole header.
 */
export async function readGateLog(path: string): Promise<GateLog> {
  const log = emptyLog();
  const reading: Reading = { log, open: new Map(), processes: 0 };
  let broken: { line: number; text: string } | undefined;
  for await (const { line, text } of readLines(path)) {
    if (isJson(text)) takeEvent(reading, parsedLine(gateEvent, text, { file: path, line }));
    else {
      log.torn++;
      broken ??= { line, text };
    }
  }
  if (broken && log.gates.size === 0) parsedLine(gateEvent, broken.text, { file: path, line: broken.line });
  return finished(log);
}

/** Groups events that are at hand into sessions. */
export function groupGateEvents(events: Iterable<GateEvent>): GateLog {
  const log = emptyLog();
  const reading: Reading = { log, open: new Map(), processes: 0 };
  for (const event of events) takeEvent(reading, event);
  return finished(log);
}

function emptyLog(): GateLog {
  return { gates: new Map(), sessions: [], drifts: [], torn: 0, strays: 0 };
}

/** A session whose end counts other loops than there are lines has lost some. */
function finished(log: GateLog): GateLog {
  for (const session of log.sessions) if (session.end && session.end.loops !== session.loops.length) session.gap = true;
  return log;
}

interface Reading {
  log: GateLog;
  /** By id: what its next lines belong to, and how many headers there were when it was opened. */
  open: Map<string, { session: LoggedSession; process: number }>;
  /** Headers so far: each process writes one before anything else. */
  processes: number;
}

function takeEvent(reading: Reading, event: GateEvent): void {
  const { log, open } = reading;
  if (event.event === 'gate') {
    log.gates.set(event.gate, event);
    reading.processes++;
  } else if (event.event === 'drift') {
    log.drifts.push(event);
  } else if (event.event === 'open') {
    // A host that names its sessions itself takes a name again after a restart, or once the first has ended.
    const before = open.get(event.session);
    const lost = before?.session.end === null && before.process === reading.processes;
    if (lost) before.session.gap = true;
    if (!log.gates.has(event.gate)) {
      log.strays++;
      open.delete(event.session);
      return;
    }
    const session: LoggedSession = { open: event, claims: null, loops: [], end: null, gap: lost };
    open.set(event.session, { session, process: reading.processes });
    log.sessions.push(session);
  } else {
    const session = open.get(event.session)?.session;
    if (!session || session.end) {
      log.strays++;
      // Two processes may have had a session of one name at once: then nothing says whose lines it has.
      if (session) session.gap = true;
    } else if (event.event === 'claims') session.claims = event;
    else if (event.event === 'end') session.end = event;
    else {
      if (event.loop !== session.loops.length + 1) session.gap = true;
      session.loops.push(event);
    }
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
