import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { TestContext } from 'node:test';
import { repositoryRoot } from './root.js';

/** The folder of the real samples, or undefined after skipping the test with the reason. */
export function dataOrSkip(t: TestContext): string | undefined {
  const folder = process.env.HOPGATE_TEST_DATA ?? resolve(repositoryRoot, '..', 'shared', 'data');
  if (existsSync(join(folder, 'hotpotqa_train_800.json'))) return folder;
  t.skip('needs data: the real samples are neither at HOPGATE_TEST_DATA nor at ../shared/data');
  return undefined;
}
