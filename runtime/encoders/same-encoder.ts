import { type EncoderIdentity, sameEncoderField } from '../../src/core/embeddings.js';
import { ProfileMismatchError } from '../../src/core/errors.js';
import { canonicalJson } from '../../src/core/hash.js';

/**
 * Vectors of two encoders, or of two prefixes, have nothing to say to each other (known-faults P29, P31). Throws ProfileMismatchError that names the
 * first difference between the encoder that `whose` (`the corpus`) was made with and the one it is given, with `advice`.
 */
export function sameEncoder(expected: EncoderIdentity, got: EncoderIdentity, { whose, advice }: { whose: string; advice: string }): void {
  for (const field of Object.keys(expected) as (keyof EncoderIdentity)[]) {
    if (sameEncoderField(field, expected[field], got[field])) continue;
    throw new ProfileMismatchError(`encoder.${field}`, canonicalJson(expected[field]), canonicalJson(got[field]), advice, whose);
  }
}

/** `sameEncoder` of a trained model. */
export function trainedEncoder(expected: EncoderIdentity, got: EncoderIdentity, model: 'drafter' | 'small verifier'): void {
  const advice = `a ${model} only understands the encoder that it was trained on: train one for this encoder`;
  sameEncoder(expected, got, { whose: `the ${model}`, advice });
}
