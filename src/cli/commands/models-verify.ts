import { CheckFailedError, InputError, shown } from '../../core/errors.js';
import { modelFolder } from '../../core/homes.js';
import { ENCODER_NAMES, checkPulled, isEncoderName, pulledModels, readEncoderRegistry } from '../../../runtime/index.js';
import { type Command, READS_ONLY } from '../command.js';
import { modelDirOption } from './models-list.js';

export const modelsVerify: Command = {
  path: 'models verify [name]',
  ignores: READS_ONLY,
  describe: 'hashes the files of pulled encoders again and compares them with what the pull recorded; exit 1 on any difference',
  positionals: { name: 'one encoder; default: every one that is here' },
  options: { ...modelDirOption, registry: { type: 'string', describe: 'registry file with other addresses (a mirror)' } },
  run: async (args, terminal) => {
    const name = args.name as string | undefined;
    if (name !== undefined && !isEncoderName(name)) throw new InputError(`got ${shown(name)}, expected one of ${ENCODER_NAMES.join(', ')}`);
    const registry = readEncoderRegistry(args.registry as string | undefined);
    const modelDir = modelFolder(args['model-dir'] as string | undefined);
    const here = (await pulledModels(modelDir, registry)).filter((one) =>
      name === undefined ? one.state !== 'absent' : one.name === name,
    );
    const failed: string[] = [];
    let files = 0;
    for (const one of here) {
      if (one.state === 'absent') throw new InputError('no pulled model here (models pull fetches it)', { file: one.folder });
      try {
        await checkPulled(one.name, one.folder, registry[one.name]);
        files += one.files.length;
        terminal.print(`ok  ${one.name}  ${one.files.length} files`);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        failed.push(error.message);
      }
    }
    if (failed.length > 0) throw new CheckFailedError(failed.join('\n'));
    if (here.length === 0) terminal.print(`no pulled model in ${modelDir}`);
    return { out: null, counts: { models: here.length, files }, quarantined: {}, warnings: [] };
  },
};
