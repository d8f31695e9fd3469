import type { Encoder } from '../../runtime/index.js';
import type { EncoderIdentity } from '../../src/core/embeddings.js';
import { sha256 } from '../../src/core/hash.js';

export interface NumberEncoder extends Encoder {
  /** Texts of each request. */
  requests: string[][];
  /** Thrown by the next requests. */
  failure: Error | null;
}

export const NUMBER_ENCODER: EncoderIdentity = {
  name: 'numbers',
  model_sha256: sha256('numbers'),
  tokenizer_sha256: sha256('numbers'),
  converter: null,
  query_prefix: '',
  passage_prefix: '',
  pooling: 'mean',
  dtype: 'fp32',
  max_tokens: 512,
  dimensions: 3,
};

/** A text's vector is written in it: three numbers with commas at its end, made unit length. So every margin is arithmetic in a comment. */
export function numberEncoder(): NumberEncoder {
  const encoder: NumberEncoder = {
    requests: [],
    failure: null,
    identity: NUMBER_ENCODER,
    encode: async (texts) => {
      encoder.requests.push([...texts]);
      await new Promise((resolve) => setImmediate(resolve));
      if (encoder.failure) throw encoder.failure;
      return texts.map((text) => {
        const values = (text.split(' ').at(-1) as string).split(',').map(Number);
        const length = Math.hypot(...values);
        return Float32Array.from({ length: 3 }, (_, at) => (values[at] ?? 0) / length);
      });
    },
    tokenCount: (text) => text.length,
    close: () => Promise.resolve(),
  };
  return encoder;
}
