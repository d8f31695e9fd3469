import type { Claim } from '../src/core/claims.js';
import { type GoldHop, type SentencePlace, missingGold } from '../src/core/gold-hops.js';
import type { HopRecord } from '../src/core/records.js';
import { normaliseSentence, normaliseTitle } from '../src/core/text.js';
import { goldClaims, isLabelled } from './gold-claims.js';
import type { SkipReason } from './quarantine.js';

export const DERIVATIONS = ['answer-sentence'] as const;
export type Derivation = (typeof DERIVATIONS)[number];

export interface CandidateRules {
  /** Label a question although one of its gold pages is not in its pool; default false. */
  allowMissingGold?: boolean | undefined;
  /** How sentence labels are made where the dataset has none (MuSiQue): from the sentence that holds the hop's answer. */
  derive?: Derivation | undefined;
}

export interface Candidate extends SentencePlace {
  /** Number of the claim; −1 for a null candidate, which belongs to the question (method.md §3). */
  claim: number;
}

/** All candidate sentences of one question, each list in order of claim, page and sentence. */
export interface LabelCandidates {
  claims: Claim[];
  /** What the claims were built from, in the same order. */
  hops: GoldHop[];
  match: Candidate[];
  partial: Candidate[];
  null: Candidate[];
  /** Left out because their text equals a gold sentence of the question: sentences of distractor pages, and of gold pages. */
  refusedNull: number;
  refusedPartial: number;
  /** Supporting facts whose sentence does not exist. */
  danglingFacts: number;
  /** Hops without one usable supporting fact: no claim, no partial rows, and their page is no distractor. */
  hopsWithoutEvidence: number;
  /** Why there are none: then all lists are empty. */
  skipped: { reason: SkipReason; detail: string } | undefined;
}

/**
 * Sorts the sentences of a question's pool by what they do for its claims (method.md §3). Empty sentences are passed over and keep their
 * index. Sentences are compared normalised, so a null or partial candidate never has the text of a gold sentence.
 */
export function labelCandidates(record: HopRecord, rules: CandidateRules = {}): LabelCandidates {
  if (!isLabelled(record)) return nothing('no_supporting', 'no supporting facts and no decomposition');
  const { claims, found } = goldClaims(record);
  const { hops } = found;
  const counts = { danglingFacts: found.dangling, hopsWithoutEvidence: found.withoutEvidence };
  const missing = missingGold(found);
  if (missing !== null && !rules.allowMissingGold) return { ...nothing('gold_page_missing', missing), ...counts };
  if (claims.length === 0) return { ...nothing('no_claims', 'no supporting fact names a sentence that exists'), ...counts };

  const sentenceOf = ({ page, sentence }: SentencePlace): string => record.pages[page]?.sentences[sentence] ?? '';
  const goldPlaces = hops.flatMap((hop) => hop.gold).filter((place) => !isBlank(sentenceOf(place)));
  const isGoldText = textMatcher(goldPlaces.map((place) => sentenceOf(place)));
  const result: LabelCandidates = { ...nothing(), ...counts, claims, hops };

  for (const [claim, hop] of hops.entries()) {
    // A step whose answer stands in no single sentence says nothing about the sentences of its paragraph.
    for (const page of new Set(hop.gold.map((place) => place.page))) {
      const gold = new Set(hop.gold.filter((place) => place.page === page).map((place) => place.sentence));
      for (const [sentence, content] of (record.pages[page]?.sentences ?? []).entries()) {
        if (isBlank(content)) continue;
        if (gold.has(sentence)) result.match.push({ claim, page, sentence });
        else if (isGoldText(content)) result.refusedPartial++;
        else result.partial.push({ claim, page, sentence });
      }
    }
  }
  const named = new Set<string>();
  for (const fact of record.supporting) named.add(normaliseTitle(fact.title));
  for (const { page } of record.decomposition) if (page !== null) named.add(normaliseTitle(record.pages[page]?.title ?? ''));
  for (const [page, { title, sentences }] of record.pages.entries()) {
    if (named.has(normaliseTitle(title))) continue;
    for (const [sentence, content] of sentences.entries()) {
      if (isBlank(content)) continue;
      if (isGoldText(content)) result.refusedNull++;
      else result.null.push({ claim: -1, page, sentence });
    }
  }
  return result;
}

/**
 * Whether a text equals one of these, normalised. ASCII texts are compared by what they keep first (number and sum of their characters
 * without punctuation and space, case-folded), which spares normalising nearly all of them.
 */
function textMatcher(texts: readonly string[]): (text: string) => boolean {
  const normalised = new Set(texts.map((one) => normaliseSentence(one)));
  const sums = new Set<number>();
  for (const one of normalised) sums.add(keptSum(one));
  return (text) => {
    const sum = keptSum(text);
    return (sum < 0 || sums.has(sum)) && normalised.has(normaliseSentence(text));
  };
}

/** Equal for ASCII texts that are equal when normalised; −1 for others. */
function keptSum(text: string): number {
  let [count, sum] = [0, 0];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    if (unit >= 128) return -1;
    const kept = KEPT[unit] as number;
    if (kept !== 0) {
      count++;
      sum += kept;
    }
  }
  return sum * 65_536 + (count % 65_536);
}

/** For every ASCII character its code in lower case, zero for what normalising drops. */
const KEPT = Uint8Array.from({ length: 128 }, (_, code) => normaliseSentence(String.fromCharCode(code)).charCodeAt(0) || 0);

function nothing(reason?: SkipReason, detail = ''): LabelCandidates {
  return {
    claims: [],
    hops: [],
    match: [],
    partial: [],
    null: [],
    refusedNull: 0,
    refusedPartial: 0,
    danglingFacts: 0,
    hopsWithoutEvidence: 0,
    skipped: reason && { reason, detail },
  };
}

function isBlank(text: string): boolean {
  return text.trim() === '';
}
