/** Where the first of the stop strings begins in a text. */
export function firstStop(text: string, stop: readonly string[]): number | undefined {
  const places = stop.filter((one) => one !== '').map((one) => text.indexOf(one));
  const found = places.filter((at) => at >= 0);
  return found.length === 0 ? undefined : Math.min(...found);
}
