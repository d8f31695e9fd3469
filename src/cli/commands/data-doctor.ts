import { FILE_FAULTS, RECORD_FAULTS, SKIP_REASONS, examine, openRecords, openSubset, writeSubset } from '../../../datasets/index.js';
import { type Command, READS_ONLY } from '../command.js';
import { checkStrict, inputOptions, openOptions } from './input-options.js';

export const dataDoctor: Command = {
  path: 'data doctor <file>',
  ignores: READS_ONLY,
  describe: 'checks a dataset file and counts what is wrong with it, by kind',
  positionals: { file: 'dataset file, records folder or run folder' },
  options: {
    ...inputOptions,
    against: { type: 'string', describe: 'another split: count the ids, questions, gold titles and gold sentences that both have' },
    subset: { type: 'string', describe: 'subset manifest (JSON lines) that the records should match' },
    'write-subset': { type: 'string', describe: 'write such a manifest: id, row and sha256 of question, answer and supports' },
  },
  run: async (args, terminal) => {
    const progress = terminal.progress('doctor (MB read)');
    try {
      // Here a subset manifest is compared and counted; elsewhere it is a condition.
      const options = { ...openOptions(args, terminal, progress), subset: undefined };
      const opened = await openRecords(args.file as string, options);
      const writeTo = args['write-subset'] as string | undefined;
      const report = await examine(opened, {
        against: args.against === undefined ? undefined : await openRecords(args.against as string, options),
        subset: args.subset === undefined ? undefined : await openSubset(args.subset as string),
        collectSubset: writeTo !== undefined,
      });
      if (writeTo !== undefined) await writeSubset(writeTo, report.subset);
      const { inputs, dataset_version, counts, faults, examples, quarantined, warnings } = report;
      terminal.print(`${opened.file}: ${opened.dataset}, sentences ${opened.splitter}, ${counts.records} records, ${counts.pages} pages`);
      for (const { name, sha256 } of inputs)
        terminal.print(`${name}: sha256 ${sha256}${dataset_version === null ? '' : `, version ${dataset_version}`}`);
      const found = Object.entries(faults).filter(([, n]) => n > 0);
      if (found.length === 0) terminal.print('no fault found');
      const meanings: { [kind: string]: string } = { ...SKIP_REASONS, ...RECORD_FAULTS, ...FILE_FAULTS };
      for (const [kind, n] of found.toSorted(([, a], [, b]) => b - a)) {
        const example = examples[kind];
        terminal.print(`${String(n).padStart(8)}  ${kind.padEnd(22)} ${meanings[kind] ?? ''}`);
        if (example) {
          const place = [example.row === null ? '' : `row ${example.row}`, example.question_id ?? '', example.field].filter(
            (part) => part !== '',
          );
          terminal.print(`${' '.repeat(10)}e.g. ${place.join(', ')}: ${example.detail}`);
        }
      }
      checkStrict(args.strict, quarantined, faults.dangling_sentence ?? 0);
      return {
        out: writeTo ?? null,
        dataset: opened.dataset,
        dataset_version,
        inputs,
        splitter: opened.splitter,
        counts,
        faults,
        examples,
        quarantined,
        warnings,
      };
    } finally {
      progress.done();
    }
  },
};
