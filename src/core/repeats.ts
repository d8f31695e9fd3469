import { InputError } from './errors.js';

/**
 * Throws InputError that names both where two inputs of a list have the same content, by whatever paths: what stands in them would count
 * twice, unnoticed.
 */
export function refuseRepeats(inputs: readonly { file: string; sha256: string }[]): void {
  const first = new Map<string, string>();
  for (const { file, sha256 } of inputs) {
    const earlier = first.get(sha256);
    if (earlier !== undefined)
      throw new InputError(`has the same content as ${earlier}, which is given too: it would count twice`, { file });
    first.set(sha256, file);
  }
}
