import { modelFolder } from '../../core/homes.js';
import { pulledModels, readEncoderRegistry } from '../../../runtime/index.js';
import { type Command, READS_ONLY } from '../command.js';

export const modelDirOption = {
  'model-dir': { type: 'string', describe: 'where named models are; default: $HOPGATE_HOME/models' },
} as const;

export const modelsList: Command = {
  path: 'models list',
  ignores: READS_ONLY,
  describe: 'the encoders that have a name: where they are from, licence, pooling, prefixes, and whether they are here',
  options: { ...modelDirOption, registry: { type: 'string', describe: 'registry file with other addresses (a mirror)' } },
  run: async (args, terminal) => {
    const registry = readEncoderRegistry(args.registry as string | undefined);
    const states = await pulledModels(modelFolder(args['model-dir'] as string | undefined), registry);
    const models = states.map(({ name, folder, state, files }) => {
      const { repository, licence, pooling, query_prefix, passage_prefix, source } = registry[name];
      return { name, state, folder, repository, licence, pooling, query_prefix, passage_prefix, source, files };
    });
    for (const { name, state, repository, licence, pooling, query_prefix: query, passage_prefix: passage } of models) {
      const prefixes = `${JSON.stringify(query)} ${JSON.stringify(passage)}`;
      terminal.print(
        `${name.padEnd(12)} ${state.padEnd(10)} ${repository}  ${licence}  pooling ${pooling}  prefixes (query, passage) ${prefixes}`,
      );
    }
    return { out: null, counts: { models: models.length }, quarantined: {}, warnings: [], models };
  },
};
