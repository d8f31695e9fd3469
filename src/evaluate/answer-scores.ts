export interface AnswerScore {
  /** Exact match after normalisation, 0 or 1. */
  em: number;
  /** Harmonic mean of token precision and recall, in [0, 1]. */
  f1: number;
}

/**
 * Exact match and token F1 of a short answer against the gold answer and its aliases: each the largest over them, as MuSiQue's script takes
 * it; with one gold answer they are those of HotpotQA's official script (hotpot_evaluate_v1, method.md §9), in which `yes`, `no` and
 * `noanswer` only equal themselves and two answers without a token have F1 0. An empty list of answers scores 0.
 */
export function scoreAnswer(prediction: string, answers: readonly string[]): AnswerScore {
  const said = normaliseAnswer(prediction);
  let [em, f1] = [0, 0];
  for (const answer of answers) {
    const gold = normaliseAnswer(answer);
    em = Math.max(em, Number(said === gold));
    f1 = Math.max(f1, tokenF1(said, gold));
  }
  return { em, f1 };
}

/**
 * The form in which answers are compared: lower case, no ASCII punctuation, no articles, single spaces. Word borders and white space are
 * Python's (letters, digits and `_` of all scripts; U+FEFF is no space), since the official script is Python.
 */
export function normaliseAnswer(answer: string): string {
  return answer
    .toLowerCase()
    .replace(/[!-/:-@[-`{-~]/g, '')
    .replace(/(?<![\p{L}\p{N}_])(?:a|an|the)(?![\p{L}\p{N}_])/gu, ' ')
    .split(SPACE)
    .filter((token) => token !== '')
    .join(' ');
}

// oxlint-disable-next-line no-control-regex -- Python's str.split takes the four separators of ASCII and NEL as white space.
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/;

const ONLY_THEMSELVES = new Set(['yes', 'no', 'noanswer']);

function tokenF1(said: string, gold: string): number {
  if (said !== gold && (ONLY_THEMSELVES.has(said) || ONLY_THEMSELVES.has(gold))) return 0;
  const [ours, theirs] = [tokens(said), tokens(gold)];
  const left = new Map<string, number>();
  for (const token of theirs) left.set(token, (left.get(token) ?? 0) + 1);
  let same = 0;
  for (const token of ours) {
    const count = left.get(token) ?? 0;
    if (count > 0) same++;
    left.set(token, count - 1);
  }
  if (same === 0) return 0;
  const [precision, recall] = [same / ours.length, same / theirs.length];
  return (2 * precision * recall) / (precision + recall);
}

function tokens(normalised: string): string[] {
  return normalised === '' ? [] : normalised.split(' ');
}
