import type { FrontierEntry } from '../core/drafter.js';

/** One line on what a drafter saves on a dataset, beside claim text and its baselines. */
export function frontierWords(entry: FrontierEntry): string {
  const { dataset, questions, decider, agreement } = entry;
  const cut = (value: number): string => value.toFixed(3);
  return (
    `${dataset} (${questions} questions, decider ${decider}): call cut at agreement ≥ ${agreement} is ${cut(entry.drafter)} with drafted slots, ` +
    `${cut(entry.claim_text)} with claim text, ${cut(entry.mean_claim)} with the mean claim, ${cut(entry.question)} with the question itself`
  );
}
