import type { StoppedBy } from '../../src/core/gate-log.js';
import type { GateSession } from './session.js';

const REASONS: { readonly [reason in StoppedBy]: string } = {
  covered: 'The evidence that was found covers the question.',
  budget: 'The budget of this question is used up.',
  maxSteps: 'No more searches are allowed for this question.',
  noProgress: 'The last searches brought nothing new.',
  error: 'The evidence could not be checked any further.',
  hostFinished: 'The search has ended.',
};

/** Asks the agent's model for its final answer, and says what stopped the search: a bound is never called coverage. */
export function finalInstruction({ stoppedBy }: Pick<GateSession, 'stoppedBy'>): string {
  return `${REASONS[stoppedBy ?? 'hostFinished']} Do not search again. Answer the question now, from what was found; if it does not suffice, say so in the answer.`;
}

/** What a search returns to the agent's model in place of a result once the run has stopped. */
export function refusedSearch(session: Pick<GateSession, 'stoppedBy'>): string {
  return `This search was not run. ${finalInstruction(session)}`;
}

/** The default force-continue message (method.md §9): the agent ended by itself before the evidence was found to be complete. */
export const CONTINUE_MESSAGE =
  'The evidence found so far does not cover every part of the question yet. Search for what is still missing before you answer.';
