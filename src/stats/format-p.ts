/**
 * A p-value as printed. It is never "0.000": one from B resamples that none contradicts is printed as "< 1/(B+1)", with the number in place
 * of B + 1, which is all that B resamples can say; below 0.001 two significant digits are given.
 */
export function formatP(p: number, { resamples }: { resamples?: number } = {}): string {
  if (Number.isNaN(p)) return 'n/a';
  if (resamples !== undefined && p <= 1 / (1 + resamples)) return `< 1/${resamples + 1}`;
  return p < 0.001 ? p.toPrecision(2) : p.toFixed(3);
}
