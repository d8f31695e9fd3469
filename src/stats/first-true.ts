/** The smallest whole number in [low, high) at which a rising condition holds; `high` where it holds nowhere. Cost: log2(high − low) questions. */
export function firstTrue(low: number, high: number, holds: (value: number) => boolean): number {
  let [from, to] = [low, high];
  while (from < to) {
    const middle = Math.floor((from + to) / 2);
    if (holds(middle)) to = middle;
    else from = middle + 1;
  }
  return from;
}
