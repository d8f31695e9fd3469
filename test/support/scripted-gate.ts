import {
  type ClaimInput,
  type Gate,
  type GateLogSink,
  type GateOptions,
  type LiveDecider,
  type Profile,
  createGate,
  functionDecider,
  gateLogMemory,
} from '../../runtime/index.js';
import { type GateLog, groupGateEvents } from '../../src/core/gate-log.js';
import { exampleProfile } from '../runtime/gate/example-profile.js';
import { NUMBER_ENCODER, type NumberEncoder, numberEncoder } from './number-encoder.js';

export interface ScriptedGate {
  gate: Gate;
  encoder: NumberEncoder;
  log: ReturnType<typeof gateLogMemory>;
  /** The loops at which the decider was called, session by session. */
  calls: { session: string; loop: number }[];
  clock: { now: number };
  read: () => GateLog;
}

/** Two hops, each on an axis of its own. */
export const TWO_CLAIMS: readonly ClaimInput[] = ['1,0,0', '0,1,0'];

export const numberProfile = (changes: Partial<Profile> = {}): Profile =>
  exampleProfile({ encoder: NUMBER_ENCODER, decider: { name: 'mine', identity: { decider: 'scripted' }, claims: null }, ...changes });

export type Script = (input: { session: string; loop: number; texts: string[] }) => boolean | Promise<boolean>;

/** A decider that does what a script says, and counts. */
export function scriptedDecider(script: Script, calls: ScriptedGate['calls'] = []): LiveDecider {
  return functionDecider(
    ({ id, loops }) => {
      const loop = loops.length;
      calls.push({ session: id, loop });
      return script({ session: id, loop, texts: loops.flatMap(({ sentences }) => sentences.map(({ text }) => text)) });
    },
    { name: 'scripted', identity: { decider: 'scripted' } },
  );
}

/** A gate of small real parts: numbers for vectors, τ 0.4, a decider by script. Audits are off unless asked for. */
export function scriptedGate(script: Script, options: Partial<GateOptions> = {}): ScriptedGate {
  const encoder = numberEncoder();
  const log = gateLogMemory();
  const calls: ScriptedGate['calls'] = [];
  const clock = { now: 1000 };
  const mode = options.mode ?? 'enforce';
  const gate = createGate({
    encoder,
    claims: { source: 'heuristic', make: () => Promise.resolve(TWO_CLAIMS) },
    profile: numberProfile(),
    decider: scriptedDecider(script, calls),
    mode,
    ...(mode === 'enforce' && { audit: { skips: 0, questions: 0 } }),
    log: log satisfies GateLogSink,
    clock: () => clock.now,
    ...options,
  });
  return { gate, encoder, log, calls, clock, read: () => groupGateEvents(log.events) };
}
