import { random } from '../src/core/random.js';

/**
 * Rows for the parity gate, as many of each label as there can be: of `count` rows each label gets its share, and what a label lacks goes to
 * the others. Drawn by the seed, in the order in which the rows stand.
 */
export function goldenRows<T extends { label: string | number }>(
  rows: readonly T[],
  { count, seed }: { count: number; seed: number },
): T[] {
  const byLabel = new Map<string | number, number[]>();
  for (const [at, { label }] of rows.entries()) byLabel.set(label, [...(byLabel.get(label) ?? []), at]);
  const order = [...byLabel].map(([label, places]) => random(seed, 'golden', label).shuffle(places));
  const chosen: number[] = [];
  for (let turn = 0; chosen.length < count && order.some((places) => turn < places.length); turn++) {
    for (const places of order) {
      const place = places[turn];
      if (place !== undefined && chosen.length < count) chosen.push(place);
    }
  }
  return chosen.toSorted((a, b) => a - b).map((at) => rows[at] as T);
}
