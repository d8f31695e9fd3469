import { existsSync } from 'node:fs';
import { mkdir, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { type Encoder, openEncoder } from '../../runtime/index.js';

/** Beside the compiled tests, so that the built-in encoder is converted once for all test files and anew after every build. */
export const testHome: string = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'test-home');

/** The cache folder of a command that runs with HOPGATE_HOME set to `testHome`. */
export const testCache: string = join(testHome, 'cache');

/** A cache folder in `folder` with vectors and replies of its own and the converted encoder of all tests. */
export async function ownCache(folder: string): Promise<string> {
  const cache = join(folder, 'cache');
  await mkdir(cache, { recursive: true });
  await mkdir(join(testCache, 'models'), { recursive: true });
  if (!existsSync(join(cache, 'models'))) await symlink(join(testCache, 'models'), join(cache, 'models'));
  return cache;
}

export function openMinilm(): Promise<Encoder> {
  return openEncoder('minilm', { cacheDir: testCache, modelDir: join(testCache, 'no-models') });
}

export function cosineOf(a: Float32Array, b: ArrayLike<number>): number {
  let [product, left, right] = [0, 0, 0];
  for (let i = 0; i < a.length; i++) {
    const [x, y] = [a[i] as number, b[i] as number];
    product += x * y;
    left += x * x;
    right += y * y;
  }
  return product / Math.sqrt(left * right);
}

export function largestDifference(a: Float32Array, b: Float32Array): number {
  return a.reduce((most, value, at) => Math.max(most, Math.abs(value - (b[at] as number))), 0);
}
