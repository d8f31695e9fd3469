import type { Claim } from '../src/core/claims.js';
import { type GoldHop, type GoldHops, goldHops } from '../src/core/gold-hops.js';
import type { HopRecord } from '../src/core/records.js';

/**
 * The gold claims of a record and the hops that they were built from, in the same order (method.md §2). HotpotQA, 2Wiki: one claim for
 * each distinct supporting title. MuSiQue: one for each step of the decomposition, whose `expected_claim` is the sub-question with its
 * references filled in.
 *
 * `expected_target` comes from the supporting facts alone: a bridge's is the next hop's page title, the last hop's its own page's title.
 * The record's `answer` is never read, nor is the answer of a MuSiQue decomposition's last step: earlier steps' answers stand in the
 * filled-in sub-questions, the last step's stands in none.
 */
export function goldClaims(record: HopRecord): { claims: Claim[]; found: GoldHops } {
  const found = goldHops(record);
  const { hops } = found;
  const claims = hops.map((hop, at): Claim => {
    const next = hops[at + 1];
    return {
      question_id: record.question_id,
      row: record.row,
      question: record.question,
      claim: at,
      source: 'gold',
      page: hop.title,
      expected_target: next?.title ?? hop.title,
      role: next ? 'bridge_title' : 'answer_node',
      answer_type: 'page_title',
      expected_claim: hop.subquestion ?? goldClaimText(record, hop),
      subquestion: hop.subquestion,
    };
  });
  return { claims, found };
}

/** The wording of a gold claim: `Title: sentence`, several supporting sentences joined by one space. The one place that decides it. */
export function goldClaimText(record: HopRecord, hop: GoldHop): string {
  const sentences = hop.gold.map(({ page, sentence }) => record.pages[page]?.sentences[sentence]?.trim() ?? '');
  return `${hop.title}: ${sentences.filter((one) => one !== '').join(' ')}`;
}

/** True when the record carries what gold claims are made from. */
export function isLabelled(record: HopRecord): boolean {
  return record.supporting.length > 0 || record.decomposition.length > 0;
}
