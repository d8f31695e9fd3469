import { type EncoderIdentity, sameEncoderField } from '../src/core/embeddings.js';
import { ProfileMismatchError } from '../src/core/errors.js';
import { canonicalJson } from '../src/core/hash.js';

/** Throws ProfileMismatchError that names the first difference between the encoder that a model was trained on and the one it is given. */
export function sameEncoder(expected: EncoderIdentity, got: EncoderIdentity, model: 'drafter' | 'small verifier'): void {
  for (const field of Object.keys(expected) as (keyof EncoderIdentity)[]) {
    if (sameEncoderField(field, expected[field], got[field])) continue;
    throw new ProfileMismatchError(
      `encoder.${field}`,
      canonicalJson(expected[field]),
      canonicalJson(got[field]),
      `a ${model} only understands the encoder that it was trained on: train one for this encoder`,
      `the ${model}`,
    );
  }
}
