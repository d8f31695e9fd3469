import type { GoldHop } from './gold-hops.js';
import type { Trajectory } from './trajectories.js';

/** How many of a hop's gold sentences have to be retrieved before it counts as covered (method.md §1, gold loop). */
export type CoverageRule = 'any' | 'all';

/**
 * For each hop the loop (one-based) by which it is covered, Infinity where that never happens. A hop without gold sentences is never
 * covered.
 */
export function coveredLoops(trajectory: Trajectory, hops: readonly GoldHop[], rule: CoverageRule = 'any'): number[] {
  const firstSeen = new Map<string, number>();
  for (const { loop, sentences } of trajectory.loops) {
    for (const { page, sentence } of sentences) {
      const key = `${page}/${sentence}`;
      if (!firstSeen.has(key)) firstSeen.set(key, loop);
    }
  }
  return hops.map((hop) => {
    if (hop.gold.length === 0) return Infinity;
    const loops = hop.gold.map(({ page, sentence }) => firstSeen.get(`${page}/${sentence}`) ?? Infinity);
    return rule === 'any' ? Math.min(...loops) : Math.max(...loops);
  });
}

/** The first loop by which every hop is covered; Infinity where that never happens; null when there are no hops (nothing to cover). */
export function goldLoop(trajectory: Trajectory, hops: readonly GoldHop[], rule: CoverageRule = 'any'): number | null {
  return hops.length === 0 ? null : Math.max(...coveredLoops(trajectory, hops, rule));
}
