import { BUILT_IN_ENCODER, type CachedEncoder, ENCODER_NAMES, cachedEncoder, openEncoder } from '../../runtime/index.js';
import { cacheFolder, modelFolder } from '../core/homes.js';
import type { CommonFlags } from './command.js';

/** Flags of every command that encodes texts on its way. */
export const encoderOptions = {
  encoder: { type: 'string', describe: `${BUILT_IN_ENCODER} (built in), ${ENCODER_NAMES.join(', ')}, or a folder` },
  'cache-dir': { type: 'string', describe: 'vectors and converted models; default: $HOPGATE_HOME/cache' },
  'model-dir': { type: 'string', describe: 'where named encoders are; default: $HOPGATE_HOME/models' },
} as const;

/** The encoder that the flags name, else `fallback`, with its vectors kept in the cache. The caller closes it. */
export async function encoderOf(
  args: { [name: string]: unknown } | CommonFlags,
  fallback: string = BUILT_IN_ENCODER,
): Promise<CachedEncoder> {
  const flags = args as { encoder?: string; 'cache-dir'?: string; 'model-dir'?: string };
  const cacheDir = cacheFolder(flags['cache-dir']);
  return cachedEncoder(await openEncoder(flags.encoder ?? fallback, { cacheDir, modelDir: modelFolder(flags['model-dir']) }), cacheDir);
}
