// Interval arithmetic on printed numbers: "0.306" stands for every number that rounds to it.
import assert from 'node:assert/strict';

export interface Range {
  low: number;
  high: number;
}

/** Half a unit of the last printed place on either side; "1,000" and a minus sign are read. `exact` values are counts. */
export function printed(text: string): Range {
  const plain = text.replaceAll(',', '').replace('−', '-');
  const value = Number(plain);
  assert.ok(plain !== '' && Number.isFinite(value), `not a printed number: ${JSON.stringify(text)}`);
  const half = 0.5 * 10 ** -(plain.split('.')[1]?.length ?? 0);
  return { low: value - half, high: value + half };
}

export function exact(value: number): Range {
  return { low: value, high: value };
}

export function plus(...ranges: readonly Range[]): Range {
  return { low: sum(ranges.map((one) => one.low)), high: sum(ranges.map((one) => one.high)) };
}

export function minus(a: Range, b: Range): Range {
  return { low: a.low - b.high, high: a.high - b.low };
}

export function times(...ranges: readonly Range[]): Range {
  return ranges.reduce((a, b) => hull([a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high]), exact(1));
}

/** The divisor's range must not hold 0. */
export function over(a: Range, b: Range): Range {
  assert.ok(b.low > 0 || b.high < 0, `division by a range around 0: ${words(b)}`);
  return hull([a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high]);
}

/** 1 − a. */
export function rest(a: Range): Range {
  return minus(exact(1), a);
}

/** V / (V + W) of independent positive ranges: it rises with V and falls with W, so no input is counted twice. */
export function shareOf(v: Range, w: Range): Range {
  return { low: v.low / (v.low + w.high), high: v.high / (v.high + w.low) };
}

/** The printed result is one that some values of the printed inputs round to. */
export function assertMeets(computed: Range, text: string, what: string): void {
  const target = printed(text);
  // A thousandth of the target's width, for ends that fall together.
  const dust = 1e-3 * (target.high - target.low);
  const meets = computed.low <= target.high + dust && computed.high >= target.low - dust;
  assert.ok(meets, `${what}: printed ${text}, recomputed ${words(computed)}`);
}

/** A share printed for n questions has to be a whole number of them. */
export function assertWhole(text: string, n: number, what: string): void {
  const { low, high } = printed(text);
  assert.ok(
    Math.floor(high * n + 1e-9) >= Math.ceil(low * n - 1e-9),
    `${what}: ${text} of ${n} is no whole number (${low * n} to ${high * n})`,
  );
}

export function words({ low, high }: Range): string {
  return `${low.toPrecision(5)} to ${high.toPrecision(5)}`;
}

function hull(values: readonly number[]): Range {
  return { low: Math.min(...values), high: Math.max(...values) };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
