import envPaths from 'env-paths';
import { join } from 'node:path';

/** Where embeddings and converted models are kept: the flag, else `$HOPGATE_HOME/cache`, else the user's cache folder. */
export function cacheFolder(flag: string | undefined, environment: NodeJS.ProcessEnv = process.env): string {
  if (flag !== undefined) return flag;
  return environment.HOPGATE_HOME ? join(environment.HOPGATE_HOME, 'cache') : envPaths('hopgate', { suffix: '' }).cache;
}

/** Where models are looked for: the flag, else `$HOPGATE_HOME/models`, else the user's data folder; never inside the installed package. */
export function modelFolder(flag: string | undefined, environment: NodeJS.ProcessEnv = process.env): string {
  if (flag !== undefined) return flag;
  return join(environment.HOPGATE_HOME || envPaths('hopgate', { suffix: '' }).data, 'models');
}
