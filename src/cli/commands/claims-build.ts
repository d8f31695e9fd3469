import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BUILT_SOURCES, type ClaimOptions, buildClaims, openRecords } from '../../../datasets/index.js';
import { MANIFEST_NAME, readManifest } from '../../core/manifest.js';
import { runFolder } from '../../core/run-folder.js';
import type { Command } from '../command.js';
import { checkStrict, formatOption, inputOptions, openOptions, outFolder, subsetOption } from './input-options.js';

export const claimsBuild: Command = {
  path: 'claims build <file>',
  describe: 'makes the hop claims of every question',
  positionals: { file: 'dataset file, records folder or run folder (the claims then go into the run)' },
  options: {
    ...inputOptions,
    source: {
      type: 'string',
      choices: BUILT_SOURCES,
      demandOption: true,
      describe: 'gold: from supporting facts or decomposition; heuristic: from the question alone, without a language model',
    },
    'allow-missing-gold': {
      type: 'boolean',
      default: false,
      describe: 'gold claims of the pages that are there, although others are missing',
    },
    ...subsetOption,
    ...formatOption,
  },
  run: async (args, terminal) => {
    const file = args.file as string;
    const source = args.source as ClaimOptions['source'];
    const out = args.out ?? ((await isRun(file)) ? runFolder.claims(file, source) : outFolder(undefined));
    const progress = terminal.progress('claims (MB read)');
    try {
      const opened = await openRecords(file, openOptions(args, terminal, progress));
      const { counts, quarantined, warnings } = await buildClaims(opened, {
        source,
        out,
        allowMissingGold: args['allow-missing-gold'] as boolean,
        format: args.format as ClaimOptions['format'],
        seed: args.seed,
        resume: args.resume,
        force: args.force,
      });
      const perK = counts.claims_per_question as { [k: string]: number };
      terminal.print(
        `${source} claims  ${String(counts.claims)} for ${String(counts.questions)} questions, ${String(counts.no_claims)} without`,
      );
      terminal.print(
        `claims a question  ${Object.entries(perK)
          .map(([k, n]) => `${k}: ${n}`)
          .join('  ')}`,
      );
      terminal.print(out);
      const repaired = counts.repaired as { [reason: string]: number };
      checkStrict(args.strict, quarantined, repaired.dangling_sentence ?? 0);
      return { out, counts, quarantined, warnings };
    } finally {
      progress.done();
    }
  },
};

async function isRun(file: string): Promise<boolean> {
  const isFolder = await stat(join(file, MANIFEST_NAME)).then(
    () => true,
    () => false,
  );
  return isFolder && (await readManifest(file)).kind === 'trajectories';
}
