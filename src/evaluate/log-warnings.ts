import type { ShadowRun } from './log-runs.js';
import { type GateTraffic, tornWarnings } from './log-traffic.js';

/** What a calibration or a report of gate logs has to be read with; the same words in both. */
export function logWarnings(traffic: readonly GateTraffic[], runs: readonly ShadowRun[]): string[] {
  return [
    ...tornWarnings(traffic),
    ...traffic.flatMap(strayWords),
    ...runs.flatMap((run) => [...lostWords(run), ...boundWords(run), ...budgetWords(run), ...nameWords(run)]),
  ];
}

function strayWords({ name, log: { strays } }: GateTraffic): string[] {
  if (strays === 0) return [];
  const what = strays === 1 ? '1 line belongs' : `${strays} lines belong`;
  return [`${name}: ${what} to questions of which the beginning is lost, and ${strays === 1 ? 'is' : 'are'} left out`];
}

function lostWords({ name, excluded: { gap } }: ShadowRun): string[] {
  return gap === 0
    ? []
    : [`${name}: ${questions(gap)} in shadow ${gap === 1 ? 'is' : 'are'} left out because lines of ${them(gap)} are lost`];
}

function boundWords({ name, excluded: { call_bound: count } }: ShadowRun): string[] {
  if (count === 0) return [];
  return [
    `${name}: ${questions(count)} in shadow ${count === 1 ? 'is' : 'are'} left out because maxCalls, maxTokens or maxMillis ended ${them(count)}, which the calls of always asking spend: a gate that asks less would have got further. What is left are questions that ended sooner, and agreement and cut are theirs (a shadow gate with maxSteps alone leaves none out)`,
  ];
}

function budgetWords({ name, withoutBudget: count, longest }: ShadowRun): string[] {
  if (count === 0) return [];
  return [
    `${name}: ${questions(count)} ended where the decider fired and ${count === 1 ? 'has' : 'have'} no budget of steps, so nothing says whether the agent would have gone on. Agreement and call cut assume at least one more loop: a gate that skips the fire disagrees; the smaller cut counts a call at every loop up to ${longest}, the most that a session made (a gate with maxSteps says it)`,
  ];
}

function nameWords({ name, unnamed: count }: ShadowRun): string[] {
  if (count === 0) return [];
  return [
    `${name}: the log has neither an id nor the text of ${questions(count)}, so each counts as a question of its own; where the same one is asked again, guarantee and intervals are surer than they should be (open(question, { questionId }) says it)`,
  ];
}

function questions(count: number): string {
  return `${count} question${count === 1 ? '' : 's'}`;
}

function them(count: number): string {
  return count === 1 ? 'it' : 'them';
}
