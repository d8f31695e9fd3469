import type { Options as YargsOptions } from 'yargs';
import { CheckFailedError, InputError } from '../../core/errors.js';
import { DATASETS, type DatasetName } from '../../core/records.js';
import { ID_SOURCES, type IdSource, type OpenOptions } from '../../../datasets/index.js';
import type { Progress, Terminal } from '../command.js';

/** Flags of every command that reads a dataset file. */
export const inputOptions = {
  dataset: { type: 'string', choices: DATASETS, describe: "the file's dataset; found from its first records when left out" },
  'dataset-version': { type: 'string', describe: "the dataset's version, for the manifest; found beside files that data download fetched" },
  ids: {
    type: 'string',
    choices: ID_SOURCES,
    default: 'field',
    describe: 'question ids: the record’s own, its zero-based row, or a hash of question and page titles',
  },
  strict: { type: 'boolean', default: false, describe: 'exit 1 when a record or a supporting fact had to be left out' },
} as const satisfies { [name: string]: YargsOptions };

/** Of commands that build something: what is built comes from exactly the records of a shared subset. */
export const subsetOption = {
  subset: {
    type: 'string',
    describe: 'subset manifest (data doctor --write-subset) that the records have to match; exit 2 where they do not',
  },
} as const satisfies { [name: string]: YargsOptions };

export const formatOption = {
  format: { type: 'string', choices: ['arrow', 'jsonl'], default: 'arrow', describe: 'form of the table' },
} as const satisfies { [name: string]: YargsOptions };

/** The reader's options from a command's flags, with progress in megabytes. */
export function openOptions(args: { [name: string]: unknown }, terminal: Terminal, progress: Progress): OpenOptions {
  return {
    dataset: args.dataset as DatasetName | undefined,
    ids: args.ids as IdSource,
    version: args['dataset-version'] as string | undefined,
    subset: args.subset as string | undefined,
    signal: terminal.signal,
    onProgress: (done, total) => {
      if (total === null) progress.update(done, null);
      else progress.update(Math.round(done / 1e6), Math.round(total / 1e6));
    },
  };
}

/** `--out`, which has no default for this input. */
export function outFolder(out: string | undefined): string {
  if (out === undefined || out === '') throw new InputError('--out: expected the folder that the result goes to');
  return out;
}

/** `--strict`: fails, after all work is done, when a record was quarantined or a supporting fact did not resolve. */
export function checkStrict(strict: unknown, quarantined: { [reason: string]: number }, danglingFacts: number): void {
  if (strict !== true) return;
  const found = Object.entries({ ...quarantined, ...(danglingFacts > 0 && { dangling_sentence: danglingFacts }) });
  if (found.length > 0)
    throw new CheckFailedError(`--strict: ${found.map(([reason, n]) => `${n} × ${reason}`).join(', ')} (quarantine.jsonl lists them)`);
}
