import type { Measured } from './measured.js';

/** A table before it is drawn, as text or as HTML. */
export interface Cells {
  header: string[];
  rows: string[][];
}

/** Columns of equal width, the first to the left, all others to the right. */
export function textTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const all = [header, ...rows];
  const widths = header.map((_, column) => Math.max(...all.map((row) => (row[column] ?? '').length)));
  const line = (row: readonly string[]): string =>
    row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] as number) : cell.padStart(widths[column] as number))).join('  ');
  return [line(header), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].map((one) => one.trimEnd()).join('\n');
}

/** `0.512`, or `n/a` where undefined. */
export function figure(value: number | null, digits = 3): string {
  return value === null ? 'n/a' : withMinus(value.toFixed(digits));
}

/** `0.512 [0.480, 0.543]`. */
export function withInterval({ value, low, high }: Measured, digits = 3): string {
  if (value === null) return 'n/a';
  return low === null || high === null
    ? figure(value, digits)
    : `${figure(value, digits)} [${figure(low, digits)}, ${figure(high, digits)}]`;
}

/** `+0.012 [−0.004, +0.028]`. */
export function signedInterval({ value, low, high }: Measured): string {
  if (value === null) return 'n/a';
  return low === null || high === null ? signed(value) : `${signed(value)} [${signed(low)}, ${signed(high)}]`;
}

/** A difference with its sign. */
export function signed(value: number | null, digits = 3): string {
  return value === null ? 'n/a' : value > 0 ? `+${figure(value, digits)}` : figure(value, digits);
}

function withMinus(text: string): string {
  return /^-0\.?0*$/.test(text) ? text.slice(1) : text.replace('-', '−');
}
