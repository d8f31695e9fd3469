import { appendFileSync } from 'node:fs';
import { open, readFile, stat, truncate } from 'node:fs/promises';
import { InputError } from './errors.js';
import { sha256 } from './hash.js';

/**
 * An append-only file of finished pieces of work, a line each of the JSON behind its digest, in the order in which they were finished. A
 * kill can only tear the last line; opening the journal again cuts that line off and gives back the whole ones, so that only unfinished work
 * is done again.
 */
export interface Journal<T> {
  /** What an earlier, interrupted run had finished. */
  readonly done: readonly T[];
  append(entry: T): Promise<void>;
}

export async function openJournal<T>(path: string, parse: (value: unknown) => T): Promise<Journal<T>> {
  const done: T[] = [];
  const exists = await stat(path).then(
    () => true,
    () => false,
  );
  if (exists) {
    const content = await readFile(path);
    const end = content.lastIndexOf(0x0a) + 1;
    if (end < content.length) await truncate(path, end);
    for (const [at, text] of content.subarray(0, end).toString('utf8').split('\n').entries()) {
      if (text === '') continue;
      try {
        const json = text.slice(DIGITS + 1);
        if (text !== lineOf(json)) throw new InputError('not what was written');
        done.push(parse(JSON.parse(json)));
      } catch (error) {
        throw new InputError(`damaged journal entry (${(error as Error).message}); start again with --force`, { file: path, line: at + 1 });
      }
    }
  } else {
    await (await open(path, 'w')).close();
  }
  return {
    done,
    // Synchronous: for lines this short the way through the thread pool takes many times longer than the write.
    append: async (entry) => appendFileSync(path, `${lineOf(JSON.stringify(entry))}\n`),
  };
}

/** Hex digits of a line's sha256 before its JSON: enough against damage. */
const DIGITS = 16;

function lineOf(json: string): string {
  return `${sha256(json).slice(0, DIGITS)} ${json}`;
}
