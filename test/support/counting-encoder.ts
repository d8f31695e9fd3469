import type { Encoder } from '../../runtime/index.js';
import { sha256 } from '../../src/core/hash.js';

/** A small encoder that makes unit vectors of four numbers from a text's hash, and counts. */
export function countingEncoder(name = 'counting'): Encoder & { calls: number; texts: string[] } {
  const encoder: Encoder & { calls: number; texts: string[] } = {
    calls: 0,
    texts: [],
    identity: {
      name,
      model_sha256: sha256(name),
      tokenizer_sha256: sha256('letters'),
      converter: null,
      query_prefix: 'query: ',
      passage_prefix: 'passage: ',
      pooling: 'mean',
      dtype: 'fp32',
      max_tokens: 512,
      dimensions: 4,
    },
    encode: (texts, role) => {
      encoder.calls++;
      encoder.texts.push(...texts);
      return Promise.resolve(texts.map((text) => hashed(`${role} ${text}`)));
    },
    tokenCount: (text) => text.length,
    close: () => Promise.resolve(),
  };
  return encoder;
}

function hashed(text: string): Float32Array {
  const bytes = Buffer.from(sha256(text), 'hex');
  const values = [0, 1, 2, 3].map((at) => bytes.readUInt16LE(at * 2) + 1);
  const length = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0));
  return Float32Array.from(values, (value) => value / length);
}
