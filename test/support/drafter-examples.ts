import { type DrafterShape, type Examples, type FitOptions, SHAPES } from '../../distill/index.js';
import { batchOf } from '../../distill/examples.js';
import { safetensorsBytes } from '../../src/core/safetensors.js';
import { patternQuestions, wordEncoder } from './word-encoder.js';

/** Vectors of pattern questions, for fits that take a moment. */
export async function patternExamples(count: number, dimensions = 24): Promise<Examples> {
  const questions = patternQuestions(count);
  const encoder = wordEncoder(dimensions);
  return {
    dimensions,
    questions: await encoder.encode(
      questions.map((one) => one.question),
      'query',
    ),
    claims: await Promise.all(questions.map((one) => encoder.encode(one.claims, 'query'))),
  };
}

export function fitOptions(over: Partial<FitOptions> = {}): FitOptions {
  return {
    shape: { ...SHAPES['320-256x3'], hidden: [16, 12] },
    residual: true,
    dropout: 0.2,
    weightDecay: 0,
    learningRate: 0.01,
    batch: 16,
    epochs: 6,
    patience: 0,
    matching: 'order',
    countWeight: 0.1,
    seed: 13,
    ...over,
  };
}

/** Examples as a safetensors file for a program in another language: `questions`, `claims`, `mask` and `counts` as training batches them. */
export function examplesSafetensors(examples: Examples, { slots, counts }: DrafterShape): Buffer {
  const all = batchOf(
    examples,
    examples.questions.map((_, index) => index),
    slots,
    counts,
  );
  return safetensorsBytes([
    { name: 'questions', shape: [all.size, examples.dimensions], values: all.questions },
    { name: 'claims', shape: [all.size, slots, examples.dimensions], values: all.targets },
    { name: 'mask', shape: [all.size, slots], values: all.mask },
    { name: 'counts', shape: [all.size], values: Float32Array.from(all.counts) },
  ]);
}
