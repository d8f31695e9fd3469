/** Throws RangeError unless `value` is an integer of at least `least`. */
export function checkCount(name: string, value: number, least = 0): void {
  if (!(Number.isSafeInteger(value) && value >= least)) {
    throw new RangeError(`${name}: got ${value}, expected an integer of at least ${least}`);
  }
}

/** Throws RangeError unless 0 < value < 1. */
export function checkOpenShare(name: string, value: number): void {
  if (!(value > 0 && value < 1)) throw new RangeError(`${name}: got ${value}, expected a number between 0 and 1, both excluded`);
}

/** Throws RangeError unless `value` is a finite number above 0. */
export function checkPositive(name: string, value: number): void {
  if (!(Number.isFinite(value) && value > 0)) throw new RangeError(`${name}: got ${value}, expected a finite number above 0`);
}
