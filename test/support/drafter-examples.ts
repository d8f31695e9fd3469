import { type Examples, type FitOptions, SHAPES } from '../../distill/index.js';
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
