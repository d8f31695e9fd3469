import { createHash } from 'node:crypto';

export interface IdTally {
  add(id: string): void;
  /** How many of the ids had stood before. */
  repeated(): number;
}

/**
 * Counts repeated ids among any number: 8 bytes an id, where a set of texts would end at 2^24 of them, fewer than a corpus may have. Ids are
 * compared by the first 64 bits of their sha256; among 10^8 ids two different ones share these with a chance of less than 0.0003.
 */
export function idTally(): IdTally {
  let hashes = new BigUint64Array(1024);
  let size = 0;
  return {
    add: (id) => {
      if (size === hashes.length) {
        const wider = new BigUint64Array(size * 2);
        wider.set(hashes);
        hashes = wider;
      }
      hashes[size++] = createHash('sha256').update(id).digest().readBigUInt64LE();
    },
    repeated: () => {
      const sorted = hashes.slice(0, size).sort();
      let repeated = 0;
      for (let at = 1; at < size; at++) if (sorted[at] === sorted[at - 1]) repeated++;
      return repeated;
    },
  };
}

/** What is said of question ids that repeat; the commands that join by id ask what to do with them. */
export function repeatedIdsWarning(repeated: number): string {
  return `${repeated} questions have an id that stood before; calibrate and replay ask for --repeats`;
}
