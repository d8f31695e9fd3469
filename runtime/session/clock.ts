/** Milliseconds since 1970 that no correction of the system's clock moves: bounds and durations are measured with it. */
export function monotonic(): number {
  return Math.round((performance.timeOrigin + performance.now()) * 1000) / 1000;
}
