import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { parsedJson } from '../src/core/parse.js';
import { InputError, fromSystem, shown } from '../src/core/errors.js';
import { readSafetensors } from '../src/core/safetensors.js';
import type { VerifierExport } from '../src/core/verifier-export.js';

const settings = z.looseObject({ lora_rank: z.int().positive(), lora_targets: z.array(z.string()).min(1) });

/**
 * Checks that the adapter that was merged is whole: two matrices of the rank for every layer and target, and no others. Throws InputError that
 * names the first tensor that is missing, of another shape, or not to be there.
 */
export async function checkAdapter(folder: string, made: VerifierExport): Promise<void> {
  const said = settings.safeParse(made.settings);
  if (!said.success) {
    const issue = said.error.issues[0];
    throw new InputError(issue?.message ?? 'invalid', { file: join(folder, 'export.json'), field: `settings.${issue?.path.join('.')}` });
  }
  const { lora_rank: rank, lora_targets: targets } = said.data;
  const file = join(folder, 'adapter', 'adapter_model.safetensors');
  const adapter = await readSafetensors(file);
  const expected = new Set<string>();
  for (let layer = 0; layer < made.architecture.layers; layer++) {
    for (const target of targets) {
      for (const [part, side] of [
        ['lora_A', 0],
        ['lora_B', 1],
      ] as const) {
        const name = adapter.names.find((one) => one.includes(`.layers.${layer}.`) && one.endsWith(`.${target}.${part}.weight`));
        if (name === undefined) throw new InputError(`missing tensor: no ${part} of ${target} in layer ${layer}`, { file });
        expected.add(name);
        const shape = adapter.shape(name);
        if (shape.length !== 2 || shape[side] !== rank)
          throw new InputError(`got the shape ${shown(shape)}, expected rank ${rank} at position ${side}`, { file, field: name });
      }
    }
  }
  const extra = adapter.names.find((name) => !expected.has(name));
  if (extra !== undefined) throw new InputError(`holds the tensor ${extra}, which belongs to none of ${targets.join(', ')}`, { file });
  await checkConfig(folder, { rank, targets });
}

const adapterConfig = z.looseObject({ r: z.int(), target_modules: z.union([z.string(), z.array(z.string())]) });

async function checkConfig(folder: string, { rank, targets }: { rank: number; targets: readonly string[] }): Promise<void> {
  const file = join(folder, 'adapter', 'adapter_config.json');
  const content = await readFile(file, 'utf8').catch((error: unknown) => {
    throw fromSystem(error, file);
  });
  const config = parsedJson(adapterConfig, content, { file });
  if (config.r !== rank) throw new InputError(`got rank ${config.r}, expected ${rank} as in export.json`, { file, field: 'r' });
  const got = [config.target_modules].flat().toSorted();
  if (JSON.stringify(got) !== JSON.stringify(targets.toSorted()))
    throw new InputError(`got ${shown(got)}, expected ${shown(targets.toSorted())} as in export.json`, { file, field: 'target_modules' });
}
