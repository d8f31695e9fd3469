/** A decider's probability threshold as it was given, 0.5 where it was not. Throws RangeError outside (0, 1]. */
export function thresholdOf({ threshold = 0.5 }: { threshold?: number | undefined }): number {
  if (!(threshold > 0 && threshold <= 1)) throw new RangeError(`threshold: got ${threshold}, expected a probability in (0, 1]`);
  return threshold;
}
