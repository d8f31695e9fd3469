import { join } from 'node:path';
import { InputError, shown } from '../../core/errors.js';
import { modelFolder } from '../../core/homes.js';
import { ENCODER_NAMES, isEncoderName, pullModel, readEncoderRegistry } from '../../../runtime/index.js';
import type { Command } from '../command.js';
import { downloadOptions, fetchOptions, printFetched } from './download-options.js';
import { modelDirOption } from './models-list.js';

export const modelsPull: Command = {
  path: 'models pull <name>',
  describe: "fetches a named encoder's files into --model-dir, where --encoder NAME finds them",
  epilogue:
    'An interrupted pull goes on where it stopped. The first one records commit, sha256 and size of every file in download.lock.json beside ' +
    'them, and every later pull, verify and use is compared with it.',
  positionals: { name: ENCODER_NAMES.join(', ') },
  options: { ...modelDirOption, ...downloadOptions },
  run: async (args, terminal) => {
    const name = args.name as string;
    if (!isEncoderName(name)) throw new InputError(`got ${shown(name)}, expected one of ${ENCODER_NAMES.join(', ')}`);
    const known = readEncoderRegistry(args.registry as string | undefined)[name];
    const modelDir = modelFolder(args['model-dir'] as string | undefined);
    const progress = terminal.progress(`${name} (MB)`);
    try {
      terminal.note(`${name}: ${known.repository}, licence ${known.licence}`);
      const files = await pullModel(name, known, { ...fetchOptions(args, terminal, progress), modelDir });
      progress.done();
      printFetched(terminal, files);
      const out = join(modelDir, name);
      terminal.print(out);
      const fetched = files.filter((one) => one.state === 'fetched').length;
      return { out, counts: { files: files.length, fetched }, quarantined: {}, warnings: [], files };
    } finally {
      progress.done();
    }
  },
};
