import { type Agent, queryAgent } from './agent.js';

/** Asks the question first, then the follow-ups as written, in order; one agent for one question. */
export function scriptedAgent(followUps: readonly string[]): Agent {
  return queryAgent('scripted', scriptedIdentity, ({ question, loops }) =>
    loops.length === 0 ? question : (followUps[loops.length - 1] ?? null),
  );
}

export const scriptedIdentity = { agent: 'scripted', queries: 'the question, then the follow-ups of a file as written' };
