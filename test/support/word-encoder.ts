import type { TextEncoder } from '../../distill/index.js';
import type { EncoderIdentity } from '../../src/core/embeddings.js';
import { random } from '../../src/core/random.js';

export interface CountingEncoder extends TextEncoder {
  calls: number;
  texts: number;
}

/** A small real encoder: a text is the unit-length sum of its words' seeded random directions. It counts what it is asked. */
export function wordEncoder(dimensions = 24): CountingEncoder {
  const words = new Map<string, Float32Array>();
  const direction = (word: string): Float32Array => {
    const known = words.get(word);
    if (known) return known;
    const draw = random(1, 'word', word);
    const made = Float32Array.from({ length: dimensions }, () => draw.float() - 0.5);
    words.set(word, made);
    return made;
  };
  const encoder: CountingEncoder = {
    identity: { ...WORD_ENCODER, dimensions },
    calls: 0,
    texts: 0,
    encode: (texts) => {
      encoder.calls++;
      encoder.texts += texts.length;
      return Promise.resolve(
        texts.map((text) => {
          const sum = new Float32Array(dimensions);
          for (const word of text.toLowerCase().split(/\W+/).filter(Boolean)) {
            for (const [at, value] of direction(word).entries()) sum[at] = (sum[at] as number) + value;
          }
          const length = Math.hypot(...sum);
          return length === 0 ? sum : sum.map((one) => one / length);
        }),
      );
    },
  };
  return encoder;
}

const WORD_ENCODER: EncoderIdentity = {
  name: 'words',
  model_sha256: '0'.repeat(64),
  tokenizer_sha256: '1'.repeat(64),
  converter: null,
  query_prefix: '',
  passage_prefix: '',
  pooling: 'mean',
  dtype: 'fp32',
  max_tokens: 512,
  dimensions: 24,
};

/** Questions of one pattern whose claims follow from their words: a drafter can learn them. */
export function patternQuestions(count: number): { question: string; claims: string[] }[] {
  const draw = random(7, 'pattern');
  const name = (): string => `name${draw.int(40)}`;
  return Array.from({ length: count }, (_, at) => {
    const [film, person] = [name(), name()];
    return at % 3 === 2
      ? { question: `where was ${person} born`, claims: [`${person} birth place`] }
      : { question: `who directed ${film} and married ${person}`, claims: [`${film} director`, `${person} spouse`] };
  });
}
