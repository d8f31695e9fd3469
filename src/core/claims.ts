import { type Row, choice, float, int, nullable, text } from './columns.js';
import { InputError } from './errors.js';

export const CLAIM_SOURCES = ['gold', 'generated', 'heuristic'] as const;
export type ClaimSource = (typeof CLAIM_SOURCES)[number];

export const CLAIM_ROLES = ['bridge_title', 'answer_node', 'intermediate'] as const;

/** One expected hop claim (method.md §2). Claims of a question are numbered from 0 in `claim`. */
export const claimColumns = {
  question_id: text(),
  row: int(),
  question: text(),
  claim: int(),
  source: choice(CLAIM_SOURCES),
  /** Gold: the supporting page's title. Generated: the model's target entity. Heuristic: the entity found in the question, or ''. */
  page: text(),
  expected_target: text(),
  role: choice(CLAIM_ROLES),
  answer_type: text(),
  expected_claim: text(),
  /** The sub-question with its references filled in and ` >> ` read as a space, where the dataset has a decomposition. */
  subquestion: nullable(text()),
} as const;

export type Claim = Row<typeof claimColumns>;

export const QUALITY_BUCKETS = ['no_match', 'partial', 'all'] as const;

/** Table `quality` beside generated claims, one row a question: what the model said, what became of it, and how it agrees with the gold titles. */
export const claimQualityColumns = {
  question_id: text(),
  row: int(),
  /** K, the number of claims. */
  k: int(),
  /** F1 of the claims' normalised target entities against the normalised gold titles, as sets; null without gold titles. */
  entity_f1: nullable(float()),
  /** None of the gold titles is named, some are, all are; null without gold titles. */
  bucket: nullable(choice(QUALITY_BUCKETS)),
  /** Why one claim from the question stands for the model's, or none; null where they are the model's. */
  fallback: nullable(text()),
  /** The model's whole reply. */
  reply: text(),
} as const;

export type ClaimQuality = Row<typeof claimQualityColumns>;

/** Which text of a claim is embedded (method.md §5); part of a threshold's identity. */
export const CLAIM_TEXTS = ['title', 'expected_claim', 'subquestion', 'title+claim', 'subquestion-or-title'] as const;
export type ClaimText = (typeof CLAIM_TEXTS)[number];

/**
 * What is embedded of a claim unless the user says otherwise (method.md §5): a gold claim's `expected_claim` holds its own evidence and
 * would be an oracle, so gold claims are embedded by title.
 */
export function defaultClaimText(source: ClaimSource): ClaimText {
  return source === 'gold' ? 'title' : 'expected_claim';
}

/** The text of a claim that is embedded. Throws InputError when the claim has no such text. */
export function claimText(claim: Claim, which: ClaimText): string {
  switch (which) {
    case 'title':
      return claim.page;
    case 'expected_claim':
      return claim.expected_claim;
    case 'title+claim':
      return `${claim.page}. ${claim.expected_claim}`;
    case 'subquestion-or-title':
      return claim.subquestion ?? claim.page;
    case 'subquestion':
      if (claim.subquestion === null) {
        throw new InputError(`claim ${claim.claim} has no sub-question: the dataset has no decomposition; choose another --claim-text`, {
          questionId: claim.question_id,
          row: claim.row,
        });
      }
      return claim.subquestion;
  }
}
