import { canonicalJson, sha256 } from '../core/hash.js';
import type { QuestionRun } from './question-run.js';

/** What a question holds, as a hash: two rows of one id are told apart by it, whatever the order of the file. */
export function contentHash({ id, margins, fires, goldLoop, matchedAt, signals }: QuestionRun): string {
  const plain = {
    id,
    margins: [...margins],
    fires: [...fires],
    // JSON has no Infinity.
    goldLoop: String(goldLoop),
    matchedAt: matchedAt?.map(String) ?? null,
    signals: signals ? [[...signals.sentences], [...signals.lexical], signals.bm25 && [...signals.bm25]] : null,
  };
  return sha256(canonicalJson(plain));
}

/** Questions by id, then by content, before anything is drawn or summed: the order of the input's rows changes no bit (evaluation.md). */
export function inRowOrder(questions: readonly QuestionRun[]): QuestionRun[] {
  return questions
    .map((question) => ({ question, hash: contentHash(question) }))
    .toSorted((a, b) => compare(a.question.id, b.question.id) || compare(a.hash, b.hash))
    .map(({ question }) => question);
}

/** By code units, whatever the machine's language. */
function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
