// The gate of the examples: the built-in encoder, claims and a decider of our own, in shadow, where the decider is asked after every search.
import { createGate, functionDecider, gateLogMemory, openEncoder } from 'hopgate/runtime';

/** Asks whether every claim's subject and what is said of it stand in one sentence; a trained verifier takes its place. */
export const decider = functionDecider(
  ({ claims, loops }) => {
    const sentences = loops.flatMap((loop) => loop.sentences.map(({ title, text }) => `${title} ${text}`));
    return (claims ?? []).every(({ page, answer_type: relation }) =>
      sentences.some((text) => text.includes(page) && text.includes(relation)),
    );
  },
  { name: 'by-words', readsClaims: true },
);

/** What the evidence has to establish. An agent makes its claims with a language model; these are written by hand. */
const CLAIMS = [
  { expected_claim: 'The Salt Lantern was directed by a person.', page: 'The Salt Lantern', answer_type: 'directed by' },
  { expected_claim: 'Ines Valdorra was born in a place.', page: 'Ines Valdorra', answer_type: 'born in' },
];

/** @param {Partial<import('hopgate/runtime').GateOptions>} options */
export async function openGate(options = {}) {
  const encoder = await openEncoder('minilm');
  const log = gateLogMemory();
  const gate = createGate({ encoder, claims: { source: 'generated', make: async () => CLAIMS }, decider, mode: 'shadow', log, ...options });
  return { gate, log, close: () => encoder.close() };
}

/**
 * @param {Awaited<ReturnType<typeof openGate>>['log']} log
 * @param {{ answer: string, stoppedBy: string | null }} end
 */
export function show(log, { answer, stoppedBy }) {
  for (const event of log.events) {
    if (event.event !== 'loop') continue;
    console.log(
      `search ${event.loop}: ${event.new_sentences} new sentences, margin ${event.margin}, ${event.error ?? (event.covered ? 'covered' : 'not covered')}`,
    );
  }
  console.log(`stopped by ${stoppedBy}: ${answer}`);
}
