import { z } from 'zod';
import { EVIDENCE_TEXTS, evidenceText } from './embeddings.js';
import type { LabelRow } from './labels.js';
import { normaliseTitle, words } from './text.js';

/** Goes up with every change of what `pairFeatures` writes: a small verifier only reads the version that it was trained on. */
export const PAIR_FEATURES_VERSION = 1;

/** Which numbers are made of a claim and a sentence; part of a small verifier's identity. */
export const pairFeatureSet = z.strictObject({
  version: z.literal(PAIR_FEATURES_VERSION),
  /** What of the evidence is encoded. */
  evidence_text: z.enum(EVIDENCE_TEXTS),
  /** Whether the evidence page's title equals the claim's page: on gold claims that alone tells `null` from the others. */
  title_match: z.boolean(),
});
export type PairFeatureSet = z.infer<typeof pairFeatureSet>;

/** One claim before one sentence. */
export interface Pair {
  question: string;
  /** The claim's wording. */
  claim: string;
  /** The page that the claim expects; read for `title_match` alone. */
  claimPage: string;
  evidencePage: string;
  sentence: string;
}

/** A label row as the features read it. */
export function pairOf(row: LabelRow): Pair {
  return {
    question: row.question,
    claim: row.expected_claim,
    claimPage: row.expected_page,
    evidencePage: row.evidence_page,
    sentence: row.evidence_sentence,
  };
}

/** Unit vectors of the pair's texts: question and claim in the role `query`, evidence in the role `passage`. */
export interface PairVectors {
  question: Float32Array;
  claim: Float32Array;
  evidence: Float32Array;
}

/** The texts that a pair's vectors are made of. */
export function pairTexts(pair: Pair, { evidence_text }: PairFeatureSet): { [part in keyof PairVectors]: string } {
  return { question: pair.question, claim: pair.claim, evidence: evidenceText(pair.evidencePage, pair.sentence, evidence_text) };
}

/** What the words of a text say; made once a text (`readWords`), since a claim meets many sentences. */
export interface TextWords {
  /** Different content words. */
  content: ReadonlySet<string>;
  /** Of these, words with a capital letter or a digit in the text. */
  names: ReadonlySet<string>;
  /** Words in all, repeats and function words counted. */
  length: number;
}

/** The text's words as the lexical features read them. */
export function readWords(text: string): TextWords {
  const content = new Set<string>();
  const names = new Set<string>();
  let length = 0;
  for (const [token] of text.normalize('NFKC').matchAll(/[\p{L}\p{N}\p{M}]+/gu)) {
    length++;
    const [word] = words(token);
    if (word === undefined || FUNCTION_WORDS.has(word)) continue;
    content.add(word);
    if (/[\p{Lu}\p{N}]/u.test(token)) names.add(word);
  }
  return { content, names, length };
}

/** The numbers beside the vector blocks, in their order; `title_match` stands last where the set has it. */
export const PAIR_SCALARS = [
  'cosine_claim_evidence',
  'cosine_question_evidence',
  'cosine_question_claim',
  'claim_words_in_sentence',
  'sentence_words_in_claim',
  'question_words_in_sentence',
  'sentence_words_in_question',
  'new_claim_words_in_sentence',
  'claim_words_in_question',
  'claim_names_in_sentence',
  'sentence_names_in_claim',
  'sentence_has_new_name',
  'sentence_length',
  'claim_length',
] as const;

/** Blocks of the encoder's width: claim, evidence, their product, the size of their difference, and question times evidence. */
const VECTOR_BLOCKS = 5;
/** Standard deviation of the vector blocks' numbers: with the scalars' own size of about 1, the head overfits the blocks (DESIGN, what was tried). */
const BLOCK_SCALE = 0.15;

/** How many numbers `writePairFeatures` writes. */
export function pairFeatureWidth(set: PairFeatureSet, dimensions: number): number {
  return VECTOR_BLOCKS * dimensions + PAIR_SCALARS.length + (set.title_match ? 1 : 0);
}

/**
 * Writes a pair's features at `offset` of `target`. The one place where they are made: training and serving both come through here.
 * Scalars lie in about [−1, 2].
 */
export function writePairFeatures(
  target: Float32Array,
  offset: number,
  { pair, vectors, read }: { pair: Pair; vectors: PairVectors; read: (text: string) => TextWords },
  set: PairFeatureSet,
): void {
  const { question, claim, evidence } = vectors;
  const width = claim.length;
  const [ofVector, ofProduct] = [BLOCK_SCALE * Math.sqrt(width), BLOCK_SCALE * width];
  let [claimEvidence, questionEvidence, questionClaim] = [0, 0, 0];
  for (let i = 0; i < width; i++) {
    const [q, c, e] = [question[i] as number, claim[i] as number, evidence[i] as number];
    target[offset + i] = c * ofVector;
    target[offset + width + i] = e * ofVector;
    target[offset + 2 * width + i] = c * e * ofProduct;
    target[offset + 3 * width + i] = Math.abs(c - e) * ofVector;
    target[offset + 4 * width + i] = q * e * ofProduct;
    claimEvidence += c * e;
    questionEvidence += q * e;
    questionClaim += q * c;
  }
  const [ofQuestion, ofClaim, ofSentence] = [read(pair.question), read(pair.claim), read(pair.sentence)];
  const newInClaim = without(ofClaim.content, ofQuestion.content);
  const newNames = without(without(ofSentence.names, ofClaim.content), ofQuestion.content);
  const scalars: { [name in (typeof PAIR_SCALARS)[number]]: number } = {
    cosine_claim_evidence: claimEvidence,
    cosine_question_evidence: questionEvidence,
    cosine_question_claim: questionClaim,
    claim_words_in_sentence: shareIn(ofClaim.content, ofSentence.content),
    sentence_words_in_claim: shareIn(ofSentence.content, ofClaim.content),
    question_words_in_sentence: shareIn(ofQuestion.content, ofSentence.content),
    sentence_words_in_question: shareIn(ofSentence.content, ofQuestion.content),
    new_claim_words_in_sentence: shareIn(newInClaim, ofSentence.content),
    claim_words_in_question: shareIn(ofClaim.content, ofQuestion.content),
    claim_names_in_sentence: shareIn(ofClaim.names, ofSentence.content),
    sentence_names_in_claim: shareIn(ofSentence.names, ofClaim.content),
    sentence_has_new_name: newNames.size > 0 ? 1 : 0,
    sentence_length: Math.log1p(ofSentence.length) / 4,
    claim_length: Math.log1p(ofClaim.length) / 4,
  };
  let at = offset + VECTOR_BLOCKS * width;
  for (const name of PAIR_SCALARS) target[at++] = scalars[name];
  if (set.title_match) target[at] = normaliseTitle(pair.evidencePage) === normaliseTitle(pair.claimPage) ? 1 : 0;
}

/** Share of the words that the other text has too; 0 for no words. */
function shareIn(some: ReadonlySet<string>, all: ReadonlySet<string>): number {
  if (some.size === 0) return 0;
  let shared = 0;
  for (const word of some) if (all.has(word)) shared++;
  return shared / some.size;
}

function without(some: ReadonlySet<string>, others: ReadonlySet<string>): Set<string> {
  return new Set([...some].filter((word) => !others.has(word)));
}

/** English words that say nothing of what a text is about. */
const FUNCTION_WORDS: ReadonlySet<string> = new Set(
  (
    'a an the of in on at to for from by with and or but as is are was were be been being it its he she his her him they their them this that ' +
    'these those who whom whose which what where when how why did do does has have had not no also into than then there s t'
  ).split(' '),
);
