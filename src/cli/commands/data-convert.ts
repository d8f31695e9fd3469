import { type ConvertOptions, convertRecords, openRecords } from '../../../datasets/index.js';
import type { Command } from '../command.js';
import { resultOf } from '../finished.js';
import { checkStrict, formatOption, inputOptions, openOptions, outFolder, subsetOption } from './input-options.js';

export const dataConvert: Command = {
  path: 'data convert <file>',
  describe: 'rewrites a dataset file or its shards (JSON, JSON lines, gzip, Parquet) as a records folder',
  positionals: { file: "dataset file, folder of one split's shards, quoted pattern or comma list; records folder or run folder" },
  options: { ...inputOptions, ...subsetOption, ...formatOption },
  run: async (args, terminal) => {
    const out = outFolder(args.out);
    const progress = terminal.progress('convert (MB read)');
    try {
      const opened = await openRecords(args.file as string, openOptions(args, terminal, progress));
      const manifest = await convertRecords(opened, {
        out,
        format: args.format as ConvertOptions['format'],
        seed: args.seed,
        resume: args.resume,
        force: args.force,
      });
      const { records, pages, repaired } = manifest.counts as { records: number; pages: number; repaired: { [reason: string]: number } };
      const left = Object.values<number>(manifest.quarantined).reduce((sum, n) => sum + n, 0);
      terminal.print(`${records} records of ${opened.dataset} with ${pages} pages, ${left} left out`);
      terminal.print(out);
      checkStrict(args.strict, manifest.quarantined, repaired.dangling_sentence ?? 0);
      return resultOf(out, manifest);
    } finally {
      progress.done();
    }
  },
};
