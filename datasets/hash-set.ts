/**
 * A set of hashes (safe integers ≥ 0) in one typed array, outside the JavaScript heap: millions of numbers cost 8 to 16 bytes each and
 * nothing at garbage collection.
 */
export interface HashSet {
  readonly size: number;
  has(key: number): boolean;
  /** True when the key was new. */
  add(key: number): boolean;
  keys(): Iterable<number>;
}

export function makeHashSet(): HashSet {
  // Keys are stored plus one, so that zero means an empty slot.
  let slots = new Float64Array(1024);
  let size = 0;
  const slotOf = (table: Float64Array, key: number): number => {
    const mask = table.length - 1;
    let at = (key ^ Math.floor(key / 2 ** 26)) & mask;
    while (table[at] !== 0 && table[at] !== key + 1) at = (at + 1) & mask;
    return at;
  };
  const grow = (): void => {
    const larger = new Float64Array(slots.length * 2);
    for (const stored of slots) if (stored !== 0) larger[slotOf(larger, stored - 1)] = stored;
    slots = larger;
  };
  return {
    get size() {
      return size;
    },
    has: (key) => slots[slotOf(slots, key)] !== 0,
    add: (key) => {
      const at = slotOf(slots, key);
      if (slots[at] !== 0) return false;
      slots[at] = key + 1;
      if (++size * 2 > slots.length) grow();
      return true;
    },
    *keys() {
      for (const stored of slots) if (stored !== 0) yield stored - 1;
    },
  };
}

/** 52 bits of two FNV-like hashes over a text's UTF-16 units, as one safe integer: two million texts collide with a probability of 1 in 2,000. */
export function textHash(text: string): number {
  let [a, b] = [START_A, START_B];
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x85ebca6b);
    b ^= b >>> 15;
  }
  return joined(a, b);
}

/**
 * Calls back with the hash of every run of `n` words of a text whose words are parted by single spaces; equal runs have equal hashes
 * wherever they stand (two rolling polynomials over the words' hashes).
 */
export function eachNgram(text: string, n: number, found: (hash: number) => void): void {
  const wordsA: number[] = [];
  const wordsB: number[] = [];
  let [a, b] = [START_A, START_B];
  for (let at = 0; at <= text.length; at++) {
    const unit = at < text.length ? text.charCodeAt(at) : 0x20;
    if (unit !== 0x20) {
      a = Math.imul(a ^ unit, 0x01000193);
      b = Math.imul(b ^ unit, 0x85ebca6b);
      b ^= b >>> 15;
      continue;
    }
    wordsA.push(a);
    wordsB.push(b);
    [a, b] = [START_A, START_B];
  }
  let [outA, outB] = [1, 1];
  for (let k = 0; k < n; k++) [outA, outB] = [Math.imul(outA, BASE_A), Math.imul(outB, BASE_B)];
  let [runA, runB] = [0, 0];
  for (let at = 0; at < wordsA.length; at++) {
    runA = (Math.imul(runA, BASE_A) + (wordsA[at] as number)) | 0;
    runB = (Math.imul(runB, BASE_B) + (wordsB[at] as number)) | 0;
    if (at >= n) {
      runA = (runA - Math.imul(outA, wordsA[at - n] as number)) | 0;
      runB = (runB - Math.imul(outB, wordsB[at - n] as number)) | 0;
    }
    if (at >= n - 1) found(joined(Math.imul(runA ^ (runA >>> 15), 0x2c1b3c6d), Math.imul(runB ^ (runB >>> 15), 0x297a2d39)));
  }
}

const [START_A, START_B, BASE_A, BASE_B] = [0x811c9dc5, 0x9e3779b9, 0x9e3779b1, 0x85ebca77];

function joined(a: number, b: number): number {
  return ((a ^ (a >>> 16)) >>> 6) * 2 ** 26 + ((b ^ (b >>> 16)) >>> 6);
}
