import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PROVIDERS, type PairVerifier, type ProviderChoice, type Verifier, openServerVerifier, openVerifier } from '../../runtime/index.js';
import { InputError, shown } from '../core/errors.js';
import { modelFolder } from '../core/homes.js';
import { VARIANTS, type Variant } from '../core/verifier-export.js';
import { VERIFIERS } from '../core/verifier-model.js';
import { keyFromEnvironment } from '../llm/index.js';
import type { Terminal } from './command.js';
import { numberIn, wholeNumber } from './number-flags.js';

/** Flags of every command that opens a verifier. */
export interface VerifierFlags {
  variant?: Variant;
  provider?: ProviderChoice;
  threads?: number;
  'max-tokens'?: number;
  server?: string;
  'server-model'?: string;
  'api-key-env'?: string;
  timeout?: number;
  tolerance?: number;
  'model-dir'?: string;
}

export const verifierOptions = {
  variant: { choices: VARIANTS, describe: "verifier: number format of the weights (default: the model's own)" },
  provider: { choices: PROVIDERS, describe: 'verifier: where the graph runs (default auto: CUDA where it is, else the CPU)' },
  threads: { type: 'number', describe: 'verifier: CPU threads (default: one a core)' },
  'max-tokens': { type: 'number', describe: 'verifier: new tokens of one pass at most (default 1,024)' },
  server: { type: 'string', describe: 'verifier: address of a vLLM or SGLang server that has the model' },
  'server-model': { type: 'string', describe: "server: the model's or adapter's name there" },
  'api-key-env': { type: 'string', describe: 'server: environment variable with the key (default HOPGATE_API_KEY)' },
  timeout: { type: 'number', describe: 'server: seconds that one request may take (default 60)' },
  tolerance: { type: 'number', describe: 'server: largest difference of a log-probability on the golden rows (default 0.1)' },
} as const;

/** The folder of an imported verifier: a path, or a name among the models. */
export async function verifierFolder(model: string, modelDir: string | undefined): Promise<string> {
  const named = join(modelFolder(modelDir), VERIFIERS, model);
  for (const folder of /^\w[\w.-]*$/.test(model) ? [named, model] : [model]) if (await isFolder(folder)) return folder;
  throw new InputError(`--model: got ${shown(model)}, expected a verifier's folder or a name in ${join(modelFolder(modelDir), VERIFIERS)}`);
}

/** Opens the verifier that the flags name, here or on a server. The caller closes it. */
export async function verifierOf(flags: VerifierFlags, model: string, terminal: Terminal): Promise<PairVerifier> {
  const folder = await verifierFolder(model, flags['model-dir']);
  if (flags.server !== undefined) {
    const local = (['variant', 'provider', 'threads', 'max-tokens'] as const).find((name) => flags[name] !== undefined);
    if (local !== undefined) throw new InputError(`--${local}: of no use with --server`);
    if (flags['server-model'] === undefined) throw new InputError("--server-model: expected the model's name on the server");
    return openServerVerifier(folder, {
      url: flags.server,
      model: flags['server-model'],
      apiKey: keyFromEnvironment('--api-key-env', flags['api-key-env']),
      timeoutMs: flags.timeout === undefined ? undefined : numberIn('timeout', flags.timeout, [0.001, Infinity]) * 1000,
      tolerance: flags.tolerance === undefined ? undefined : numberIn('tolerance', flags.tolerance, [0, Infinity]),
    });
  }
  const remote = (['server-model', 'api-key-env', 'timeout', 'tolerance'] as const).find((name) => flags[name] !== undefined);
  if (remote !== undefined) throw new InputError(`--${remote}: of no use without --server`);
  return openLocal(flags, folder, terminal);
}

/** Opens the verifier that the flags name, in this process. The caller closes it. */
export async function openLocal(flags: VerifierFlags, folder: string, terminal: Terminal): Promise<Verifier> {
  const verifier = await openVerifier(folder, {
    variant: flags.variant,
    provider: flags.provider,
    threads: flags.threads === undefined ? undefined : wholeNumber('threads', flags.threads),
    maxTokens: flags['max-tokens'] === undefined ? undefined : wholeNumber('max-tokens', flags['max-tokens']),
  });
  terminal.note(`verifier ${verifier.details.base}, ${verifier.variant}, on ${verifier.provider.ran} (${verifier.provider.why})`);
  return verifier;
}

/** A sentence that lost its end was judged on what was left of it. */
export function cutWarnings(cut: number): string[] {
  return cut === 0 ? [] : [`${cut} evidence sentences were too long for the prompt and were cut at their end`];
}

function isFolder(path: string): Promise<boolean> {
  return stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );
}
