import { join } from 'node:path';
import { InputError } from '../../core/errors.js';
import { modelFolder } from '../../core/homes.js';
import { VERIFIERS, verifierNames } from '../../core/verifier-model.js';
import { pulledModels, readEncoderRegistry, readVerifier } from '../../../runtime/index.js';
import { figure } from '../../evaluate/index.js';
import { type Command, READS_ONLY } from '../command.js';

export const modelDirOption = {
  'model-dir': { type: 'string', describe: 'where named models are; default: $HOPGATE_HOME/models' },
} as const;

export const modelsList: Command = {
  path: 'models list',
  ignores: READS_ONLY,
  describe:
    'the encoders that have a name: where they are from, licence, pooling, prefixes, and whether they are here; and the imported verifiers',
  options: { ...modelDirOption, registry: { type: 'string', describe: 'registry file with other addresses (a mirror)' } },
  run: async (args, terminal) => {
    const registry = readEncoderRegistry(args.registry as string | undefined);
    const modelDir = modelFolder(args['model-dir'] as string | undefined);
    const states = await pulledModels(modelDir, registry);
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
    const { verifiers, warnings } = await importedVerifiers(modelDir);
    for (const { name, base, variants, default_variant: opened, dev_macro_f1: macroF1 } of verifiers) {
      terminal.print(
        `${name.padEnd(12)} ${'imported'.padEnd(10)} verifier on ${base}  ${variants.join(', ')} (opened: ${opened})  dev macro-F1 ${figure(macroF1)}`,
      );
    }
    return {
      out: null,
      counts: { models: models.length, verifiers: verifiers.length },
      quarantined: {},
      warnings,
      models,
      verifiers,
    };
  },
};

interface ListedVerifier {
  name: string;
  folder: string;
  base: string;
  variants: string[];
  default_variant: string;
  dev_macro_f1: number | null;
}

async function importedVerifiers(modelDir: string): Promise<{ verifiers: ListedVerifier[]; warnings: string[] }> {
  const verifiers: ListedVerifier[] = [];
  const warnings: string[] = [];
  for (const name of await verifierNames(modelDir)) {
    const folder = join(modelDir, VERIFIERS, name);
    try {
      const { details } = await readVerifier(folder);
      const { base, default_variant, metrics } = details;
      verifiers.push({ name, folder, base, variants: Object.keys(details.variants), default_variant, dev_macro_f1: metrics.dev.macro_f1 });
    } catch (error) {
      // One folder that cannot be read does not hide the others.
      if (!(error instanceof InputError)) throw error;
      warnings.push(error.message);
    }
  }
  return { verifiers, warnings };
}
