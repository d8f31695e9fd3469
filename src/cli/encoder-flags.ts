import {
  BUILT_IN_ENCODER,
  type CachedEncoder,
  ENCODER_NAMES,
  type Encoder,
  type EncoderOptions,
  cachedEncoder,
  openEncoder,
  openHttpEncoder,
} from '../../runtime/index.js';
import { InputError } from '../core/errors.js';
import { cacheFolder, modelFolder } from '../core/homes.js';
import { keyFromEnvironment } from '../llm/index.js';
import type { CommonFlags } from './command.js';

/** Flags of every command that encodes texts on its way. */
export const encoderOptions = {
  encoder: {
    type: 'string',
    describe: `${BUILT_IN_ENCODER} (built in), ${ENCODER_NAMES.join(', ')}, or a folder; with --encoder-url its name on that server`,
  },
  'encoder-url': { type: 'string', describe: 'address of an OpenAI-compatible /v1/embeddings server (TEI, Infinity, vLLM, Ollama)' },
  'encoder-key-env': { type: 'string', describe: "encoder's server: environment variable with the key; default: none is sent" },
  'query-prefix': { type: 'string', describe: "put before queries and claims; default: the encoder's own, none is known of a server's" },
  'passage-prefix': { type: 'string', describe: "put before evidence; default: the encoder's own, none is known of a server's" },
  'cache-dir': { type: 'string', describe: 'vectors and converted models; default: $HOPGATE_HOME/cache' },
  'model-dir': { type: 'string', describe: 'where named encoders are; default: $HOPGATE_HOME/models' },
} as const;

/** All are texts. */
export type EncoderFlags = { -readonly [flag in keyof typeof encoderOptions]?: string };

/** Their names, for who hands them on. */
export const encoderFlagNames = Object.keys(encoderOptions) as (keyof EncoderFlags)[];

/** The encoder that the flags name, else `fallback`, with its vectors kept in the cache. The caller closes it. */
export async function encoderOf(
  args: { [name: string]: unknown } | CommonFlags,
  fallback: string = BUILT_IN_ENCODER,
  options: Pick<EncoderOptions, 'pooling' | 'dtype'> = {},
): Promise<CachedEncoder> {
  return cachedEncoder(await openedEncoder(args, fallback, options), cacheFolder((args as EncoderFlags)['cache-dir']));
}

/** The encoder that the flags name, else `fallback`, here or on a server. The caller closes it. */
export async function openedEncoder(
  args: { [name: string]: unknown } | CommonFlags,
  fallback: string = BUILT_IN_ENCODER,
  { pooling, dtype }: Pick<EncoderOptions, 'pooling' | 'dtype'> = {},
): Promise<Encoder> {
  const flags = args as EncoderFlags;
  const cacheDir = cacheFolder(flags['cache-dir']);
  const [queryPrefix, passagePrefix, url] = [flags['query-prefix'], flags['passage-prefix'], flags['encoder-url']];
  if (url === undefined) {
    if (flags['encoder-key-env'] !== undefined) throw new InputError('--encoder-key-env: of no use without --encoder-url');
    const modelDir = modelFolder(flags['model-dir']);
    return openEncoder(flags.encoder ?? fallback, { cacheDir, modelDir, queryPrefix, passagePrefix, pooling, dtype });
  }
  if (flags.encoder === undefined) throw new InputError("--encoder: expected the model's name on the server of --encoder-url");
  // Which prefixes a server's model was trained with cannot be known, and without them it is silently another one.
  for (const [name, given] of [
    ['query-prefix', queryPrefix],
    ['passage-prefix', passagePrefix],
  ] as const)
    if (given === undefined)
      throw new InputError(`--${name}: expected with --encoder-url, '' for none (models of the E5 family: 'query: ' on both sides)`);
  return openHttpEncoder({
    url,
    model: flags.encoder,
    // Never the default variable: that key is the language model's, which another server must not see.
    apiKey: flags['encoder-key-env'] === undefined ? undefined : keyFromEnvironment('--encoder-key-env', flags['encoder-key-env']),
    queryPrefix: queryPrefix as string,
    passagePrefix: passagePrefix as string,
    cacheDir,
  });
}
