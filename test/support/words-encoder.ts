import type { Encoder } from '../../runtime/index.js';
import { sha256 } from '../../src/core/hash.js';
import { words } from '../../src/core/text.js';

const DIMENSIONS = 64;

/** A bag of words hashed into 64 numbers: texts that share words are near, at the cost of a hash a word. */
export function wordsEncoder(name = 'words'): Encoder {
  return {
    identity: {
      name,
      model_sha256: sha256(name),
      tokenizer_sha256: sha256('words'),
      converter: null,
      query_prefix: '',
      passage_prefix: '',
      pooling: 'mean',
      dtype: 'fp32',
      max_tokens: 512,
      dimensions: DIMENSIONS,
    },
    encode: (texts) => Promise.resolve(texts.map(bag)),
    tokenCount: (text) => words(text).length,
    close: () => Promise.resolve(),
  };
}

function bag(text: string): Float32Array {
  const counts = new Float64Array(DIMENSIONS);
  for (const word of ['', ...words(text)]) {
    const at = Buffer.from(sha256(word), 'hex').readUInt32LE(0) % DIMENSIONS;
    counts[at] = (counts[at] as number) + 1;
  }
  const length = Math.sqrt(counts.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(counts, (value) => value / length);
}
