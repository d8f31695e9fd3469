/** What gating saves and what deferral adds, per question. */
export interface BreakEvenInput {
  /** Verification per question under always-verify and under the gate: seconds, or calls. */
  always: number;
  gated: number;
  /** Loops per question that the gated run makes more than always-verify. */
  addedLoops: number;
}

/**
 * The cost of one more loop at which the gate's added loops eat up what it saves: (V_always − V_gated) / added loops, in the unit of V
 * (CoVeR, appendix C). Infinity where no loop is added and something is saved; a gate that saves nothing pays at no cost: 0.
 */
export function breakEven({ always, gated, addedLoops }: BreakEvenInput): number {
  const saved = always - gated;
  if (saved <= 0) return 0;
  return addedLoops <= 0 ? Infinity : saved / addedLoops;
}

/** The verdict in words, from calls: it needs no clock (known fault P107). */
export function breakEvenWords(dataset: string, input: BreakEvenInput): string {
  const limit = breakEven(input);
  if (limit === 0) return `${dataset}: the gate saves no call, it does not pay.`;
  if (limit === Infinity) return `${dataset}: the gate adds no loop, so every saved call is gained.`;
  return `${dataset}: the gate adds ${input.addedLoops.toFixed(3)} loops a question and saves ${(input.always - input.gated).toFixed(2)} calls; it pays in time while a loop takes less than ${limit.toFixed(1)} decider calls.`;
}
