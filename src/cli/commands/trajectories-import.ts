import {
  type IdSource,
  TRAJECTORY_FORMATS,
  type TrajectoryFormat,
  ID_SOURCES,
  IMPORT_REPAIRS,
  SKIP_REASONS,
  importTrajectories,
  openRecords,
} from '../../../datasets/index.js';
import { DATASETS, type DatasetName } from '../../core/records.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { resultOf } from '../finished.js';
import { checkStrict, outFolder } from './input-options.js';

interface Flags extends CommonFlags {
  file: string;
  format: TrajectoryFormat;
  'text-field'?: string;
  questions?: string;
  dataset?: DatasetName;
  ids?: IdSource;
  tables: 'arrow' | 'jsonl';
  strict: boolean;
}

export const trajectoriesImport: Command = {
  path: 'trajectories import <file>',
  describe: 'a run folder from trajectories that another program made',
  positionals: { file: 'JSON lines or a JSON array of trajectories, gzipped or not' },
  options: {
    format: { choices: TRAJECTORY_FORMATS, demandOption: true, describe: 'layout of the trajectories (FORMATS.md)' },
    'text-field': { type: 'string', describe: 'field of the transcript; default: the first known one' },
    questions: {
      type: 'string',
      describe: 'dataset file or records folder that questions, answers and supporting facts are taken from, joined by id or question text',
    },
    dataset: { type: 'string', choices: DATASETS, describe: 'the dataset of --questions, or the name to give without it; default jsonl' },
    ids: {
      type: 'string',
      choices: ID_SOURCES,
      describe: 'question ids without --questions; default: the own one, else a hash of the question',
    },
    tables: { type: 'string', choices: ['arrow', 'jsonl'], default: 'arrow', describe: 'form of the tables' },
    strict: { type: 'boolean', default: false, describe: 'exit 1 when a record had to be left out' },
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const out = outFolder(flags.out);
  const { signal } = terminal;
  const questions = flags.questions === undefined ? undefined : await openRecords(flags.questions, { dataset: flags.dataset, signal });
  const bar = terminal.progress('import (MB read)');
  const manifest = await importTrajectories(flags.file, {
    out,
    format: flags.format,
    textField: flags['text-field'],
    questions,
    dataset: flags.dataset,
    ids: flags.ids,
    tables: flags.tables,
    seed: flags.seed,
    resume: flags.resume,
    force: flags.force,
    signal,
    onProgress: (done, total) => bar.update(Math.round(done / 1e6), total === null ? null : Math.round(total / 1e6)),
  }).finally(() => bar.done());
  const result = resultOf(out, manifest);
  const { counts } = manifest;
  const skipped = Object.values<number>(manifest.quarantined).reduce((sum, n) => sum + n, 0);
  terminal.print(
    `${String(counts.questions)} questions (${String(counts.without_search)} without a search), ${String(counts.loops)} loops, ${String(counts.documents)} documents; ${skipped} records quarantined; in ${out}`,
  );
  const { repaired } = counts as { repaired: { [reason: string]: number } };
  for (const [what, reasons] of Object.entries({ skipped: manifest.quarantined, repaired })) {
    for (const [reason, n] of Object.entries(reasons).toSorted(([, a], [, b]) => b - a))
      terminal.print(`${String(n).padStart(8)}  ${what.padEnd(8)} ${reason.padEnd(22)} ${MEANINGS[reason] ?? ''}`.trimEnd());
  }
  checkStrict(flags.strict, manifest.quarantined, 0);
  return { ...result, questions: counts.questions, loops: counts.loops, documents: counts.documents };
}

const MEANINGS: { readonly [reason: string]: string } = { ...SKIP_REASONS, ...IMPORT_REPAIRS };
