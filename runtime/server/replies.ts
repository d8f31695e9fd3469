import { InputError } from '../../src/core/errors.js';
import { GateDeciderError, type GateSession, type Observation, finalInstruction } from '../session/index.js';
import { failureWords } from '../session/gate-errors.js';
import { ServiceError } from './service-error.js';
import type { ObservationReply, SessionReply } from './wire.js';

export function sessionReply(session: GateSession, questionId: string | null): SessionReply {
  const { perClaim, awaitsVerdict, covered, ...state } = session.state;
  return {
    session: session.id,
    question_id: questionId,
    mode: session.mode,
    claims: perClaim.length,
    stopped_by: session.stoppedBy,
    bound: session.bound,
    ...state,
    per_claim: [...perClaim],
    covered,
    awaits_verdict: awaitsVerdict,
  };
}

export function observationReply(session: GateSession, seen: Observation): ObservationReply {
  return {
    session: session.id,
    loop: seen.loop,
    action: seen.action,
    margin: seen.margin,
    per_claim: [...seen.perClaim],
    covered: seen.covered,
    stopped_by: seen.stoppedBy,
    bound: seen.bound,
    new_sentences: seen.newSentences,
    why: seen.because,
    error: seen.failure && failureWords(seen.failure.stage, seen.failure.reason, false),
    final_instruction: instruction(session),
    replayed: false,
  };
}

/** What asks the agent's model for its answer; null while the run goes on. */
export function instruction(session: GateSession): string | null {
  return session.stoppedBy === null ? null : finalInstruction(session);
}

/** What the session refuses is the client's to mend, and a decider that fails is nobody's mistake here. */
export function asServiceError(error: unknown, field?: string): unknown {
  if (error instanceof ServiceError) return error;
  if (error instanceof GateDeciderError) return new ServiceError('decider_failed', failureWords(error.stage, error.cause, false));
  if (error instanceof InputError) {
    return new ServiceError('invalid', error.message, { field: error.place.field ?? field });
  }
  return error;
}
