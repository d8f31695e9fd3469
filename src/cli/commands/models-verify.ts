import { join } from 'node:path';
import { CheckFailedError, InputError, shown } from '../../core/errors.js';
import { modelFolder } from '../../core/homes.js';
import { VERIFIERS, checkVerifierFiles, verifierNames } from '../../core/verifier-model.js';
import { ENCODER_NAMES, checkPulled, isEncoderName, pulledModels, readEncoderRegistry, readVerifier } from '../../../runtime/index.js';
import { type Command, READS_ONLY } from '../command.js';
import { modelDirOption } from './models-list.js';

export const modelsVerify: Command = {
  path: 'models verify [name]',
  ignores: READS_ONLY,
  describe:
    'hashes the files of pulled encoders and imported verifiers again and compares them with what was recorded; exit 1 on any difference',
  positionals: { name: 'one encoder or imported verifier; default: every one that is here' },
  options: { ...modelDirOption, registry: { type: 'string', describe: 'registry file with other addresses (a mirror)' } },
  run: async (args, terminal) => {
    const name = args.name as string | undefined;
    const registry = readEncoderRegistry(args.registry as string | undefined);
    const modelDir = modelFolder(args['model-dir'] as string | undefined);
    const imported = (await verifierNames(modelDir)).filter((one) => name === undefined || one === name);
    if (name !== undefined && !isEncoderName(name) && imported.length === 0)
      throw new InputError(`got ${shown(name)}, expected one of ${[...ENCODER_NAMES, ...(await verifierNames(modelDir))].join(', ')}`);
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
    for (const one of imported) {
      const folder = join(modelDir, VERIFIERS, one);
      try {
        const { manifest } = await readVerifier(folder);
        await checkVerifierFiles(folder, manifest);
        files += manifest.outputs.length;
        terminal.print(`ok  ${one}  ${manifest.outputs.length} files`);
      } catch (error) {
        if (!(error instanceof InputError)) throw error;
        failed.push(error.message);
      }
    }
    if (failed.length > 0) throw new CheckFailedError(failed.join('\n'));
    if (here.length + imported.length === 0) terminal.print(`no model in ${modelDir}`);
    return { out: null, counts: { models: here.length + imported.length, files }, quarantined: {}, warnings: [] };
  },
};
