import type { Options as YargsOptions } from 'yargs';
import type { FetchOptions, FetchedFile } from '../../core/pinned-files.js';
import type { Progress, Terminal } from '../command.js';
import { wholeNumber } from '../number-flags.js';

/** Flags of the commands that fetch files. */
export const downloadOptions = {
  registry: { type: 'string', describe: 'registry file with other addresses (a mirror); default: the shipped one' },
  retries: { type: 'number', default: 5, describe: 'attempts in a row that may bring nothing new' },
} as const satisfies { [name: string]: YargsOptions };

export function fetchOptions(args: { [name: string]: unknown }, terminal: Terminal, progress: Progress): FetchOptions {
  return {
    retries: wholeNumber('retries', args.retries, 0),
    force: args.force as boolean,
    signal: terminal.signal,
    onProgress: (done, total) => progress.update(Math.round(done / 1e6), total === null ? null : Math.round(total / 1e6)),
  };
}

/** What a person reads of each file; the first fetch of an unpinned one is said, since it decides what later ones are compared with. */
export function printFetched(terminal: Terminal, files: readonly FetchedFile[]): void {
  for (const { name, sha256, bytes, revision, state, first } of files) {
    const where = revision === null ? '' : `  revision ${revision}`;
    terminal.print(`${state}  ${name}  ${bytes} bytes  sha256 ${sha256}${where}${first ? '  (recorded in download.lock.json)' : ''}`);
  }
}
