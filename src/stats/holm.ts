import { checkOpenShare } from './argument-checks.js';

export interface HolmOptions {
  /** Probability of any false rejection in the family. Default 0.05. */
  level?: number;
}

export interface HolmResult {
  /** Adjusted p-values, in the order given. */
  adjusted: number[];
  /** Whether each test rejects at the level, in the order given. */
  rejected: boolean[];
}

/**
 * Several tests, one error rate: use it on the p-values of a family declared beforehand; it holds whatever the dependence between the
 * tests, and rejects all that Bonferroni rejects.
 * Variant: Holm 1979, step-down; adjusted p-values are made monotone and stop at 1. Cost: one sort.
 */
export function holm(pValues: readonly number[], { level = 0.05 }: HolmOptions = {}): HolmResult {
  checkOpenShare('level', level);
  for (const [i, p] of pValues.entries()) {
    if (!(p >= 0 && p <= 1)) throw new RangeError(`pValues[${i}]: got ${p}, expected a number from 0 to 1`);
  }
  const order = pValues.map((_, i) => i).sort((a, b) => (pValues[a] as number) - (pValues[b] as number) || a - b);
  const adjusted: number[] = Array.from({ length: pValues.length });
  let largest = 0;
  for (const [rank, i] of order.entries()) {
    largest = Math.max(largest, Math.min(1, (pValues[i] as number) * (pValues.length - rank)));
    adjusted[i] = largest;
  }
  return { adjusted, rejected: adjusted.map((p) => p <= level) };
}

/** One test of a family. */
export interface HolmCell {
  /** Printed name, for example "2Wiki generated, NI". */
  name: string;
  p: number;
  /** The cell has no variance (the two systems never differ), so its test says nothing. */
  degenerate?: boolean;
}

export interface HolmFamily {
  tests: { name: string; p: number; adjusted: number; rejected: boolean }[];
  /** Names of the cells left out because they have no variance; they do not count in the family's size. */
  leftOut: string[];
}

/** `holm` over named cells; those without variance are left out by rule and named. */
export function holmFamily(cells: readonly HolmCell[], options: HolmOptions = {}): HolmFamily {
  const tested = cells.filter((cell) => cell.degenerate !== true);
  const { adjusted, rejected } = holm(
    tested.map((cell) => cell.p),
    options,
  );
  return {
    tests: tested.map(({ name, p }, i) => ({ name, p, adjusted: adjusted[i] as number, rejected: rejected[i] as boolean })),
    leftOut: cells.filter((cell) => cell.degenerate === true).map((cell) => cell.name),
  };
}

/** One endpoint of a cell that passes only where all its endpoints reject. */
export interface HolmEndpoint {
  /** What is judged, for example "2Wiki generated". */
  cell: string;
  /** Which test of it, for example "NI" or "loops". */
  endpoint: string;
  p: number;
  /** The endpoint has no variance. */
  degenerate?: boolean;
}

export interface HolmCells {
  /** The family over all endpoints; a test's name is "cell, endpoint". */
  family: HolmFamily;
  /** In the order in which the cells first appear; `passes` is null where an endpoint was left out, so that the cell is not judged. */
  cells: { cell: string; passes: boolean | null }[];
}

/**
 * Cells with several endpoints in one family: a cell passes only where every endpoint rejects after the correction.
 * Source: HALT §3.4 (non-inferiority in EM and superiority in loops; families of 12, 6 and 3 tests). Cost: one sort.
 */
export function holmCells(endpoints: readonly HolmEndpoint[], options: HolmOptions = {}): HolmCells {
  const nameOf = ({ cell, endpoint }: HolmEndpoint): string => `${cell}, ${endpoint}`;
  const family = holmFamily(
    endpoints.map((one) => ({ ...one, name: nameOf(one) })),
    options,
  );
  const rejected = new Map(family.tests.map((test) => [test.name, test.rejected]));
  const cells = [...new Set(endpoints.map((one) => one.cell))].map((cell) => {
    const own = endpoints.filter((one) => one.cell === cell);
    const judged = own.every((one) => one.degenerate !== true);
    return { cell, passes: judged ? own.every((one) => rejected.get(nameOf(one)) === true) : null };
  });
  return { family, cells };
}
