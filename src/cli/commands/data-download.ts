import { chosenFiles, fetchOfficial, readOfficialFiles } from '../../../datasets/index.js';
import type { Command } from '../command.js';
import { downloadOptions, fetchOptions, printFetched } from './download-options.js';
import { outFolder } from './input-options.js';

export const dataDownload: Command = {
  path: 'data download <name>',
  describe: "fetches a dataset's official files into --out, or says how to get those that no program can fetch",
  epilogue:
    'An interrupted download goes on where it stopped. The first one records sha256 and size in download.lock.json beside the file, and ' +
    'every later one is compared with it.',
  positionals: { name: 'hotpotqa, 2wiki, musique, bamboogle, or one file: hotpotqa-train, hotpotqa-dev, …' },
  options: downloadOptions,
  run: async (args, terminal) => {
    const chosen = chosenFiles(readOfficialFiles(args.registry as string | undefined), args.name as string);
    const manual = chosen.filter((one) => one.address === null);
    const progress = terminal.progress('download (MB)');
    try {
      const out = manual.length === chosen.length ? null : outFolder(args.out);
      const files = out === null ? [] : await fetchOfficial(out, chosen, fetchOptions(args, terminal, progress));
      progress.done();
      printFetched(terminal, files);
      for (const one of manual) terminal.print(`${one.name} (${one.licence}): ${one.by_hand ?? ''}\n    documented at ${one.source}`);
      if (out !== null) terminal.print(out);
      return {
        out,
        counts: { files: files.length, fetched: files.filter((one) => one.state === 'fetched').length, by_hand: manual.length },
        quarantined: {},
        warnings: [],
        files,
        by_hand: manual.map(({ name, by_hand, source, licence }) => ({ name, by_hand, source, licence })),
      };
    } finally {
      progress.done();
    }
  },
};
