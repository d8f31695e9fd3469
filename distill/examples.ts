import { random } from '../src/core/random.js';
import { normaliseSentence } from '../src/core/text.js';

/** Evidence that an agent retrieved for one question: each loop's newly retrieved sentences as unit vectors, in loop order. */
export type QuestionEvidence = readonly (readonly Float32Array[])[];

/** Questions with the vectors that a drafter learns from, all of unit length and one width. */
export interface Examples {
  dimensions: number;
  /** One vector a question. */
  questions: readonly Float32Array[];
  /** For each question its claims' vectors in claim order; at least one. */
  claims: readonly (readonly Float32Array[])[];
  /** For each question what an agent retrieved for it; undefined where that is not known. Only margin distillation reads it. */
  evidence?: readonly (QuestionEvidence | undefined)[] | undefined;
}

/** One batch as row-major arrays; claims past the last slot are left out. */
export interface Batch {
  size: number;
  /** [size × dimensions] */
  questions: Float32Array;
  /** [size × slots × dimensions]; zero where a question has fewer claims. */
  targets: Float32Array;
  /** [size × slots]: 1 where there is a claim. */
  mask: Float32Array;
  /** Class of the count head for each question: number of claims − 1, at most the last class. */
  counts: Int32Array;
}

export function batchOf(examples: Examples, indices: readonly number[], slots: number, countClasses: number): Batch {
  const { dimensions } = examples;
  const batch: Batch = {
    size: indices.length,
    questions: new Float32Array(indices.length * dimensions),
    targets: new Float32Array(indices.length * slots * dimensions),
    mask: new Float32Array(indices.length * slots),
    counts: new Int32Array(indices.length),
  };
  for (const [at, index] of indices.entries()) {
    batch.questions.set(examples.questions[index] as Float32Array, at * dimensions);
    const claims = examples.claims[index] as readonly Float32Array[];
    for (const [slot, claim] of claims.slice(0, slots).entries()) {
      batch.targets.set(claim, (at * slots + slot) * dimensions);
      batch.mask[at * slots + slot] = 1;
    }
    batch.counts[at] = Math.min(claims.length, countClasses) - 1;
  }
  return batch;
}

/** The examples at these positions, in this order. */
export function chosenExamples(examples: Examples, indices: readonly number[]): Examples {
  return {
    dimensions: examples.dimensions,
    questions: indices.map((index) => examples.questions[index] as Float32Array),
    claims: indices.map((index) => examples.claims[index] as readonly Float32Array[]),
    evidence: examples.evidence && indices.map((index) => examples.evidence?.[index]),
  };
}

/**
 * Splits positions into training and held-out ones: a share of the different question texts, drawn by the seed, so that a question that
 * stands twice, in whatever case or punctuation, is on one side. With at least two different texts both sides get one.
 */
export function heldOutSplit(given: readonly string[], share: number, seed: number): { train: number[]; heldOut: number[] } {
  const questions = given.map(normaliseSentence);
  const texts = [...new Set(questions)];
  const size = texts.length < 2 ? 0 : Math.min(texts.length - 1, Math.max(1, Math.round(texts.length * share)));
  const chosen = new Set(random(seed, 'drafter', 'held-out').sample(texts, share === 0 ? 0 : size));
  const train: number[] = [];
  const heldOut: number[] = [];
  for (const [index, text] of questions.entries()) (chosen.has(text) ? heldOut : train).push(index);
  return { train, heldOut };
}
