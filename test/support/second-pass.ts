import type { TestContext } from 'node:test';

/**
 * Whether the tests have just passed, whole, on another version of Node. `.ci/run` sets HOPGATE_TEST_SECOND_PASS for its second Node alone,
 * so that the pass there is about what a version of Node can change.
 */
const secondPass = process.env.HOPGATE_TEST_SECOND_PASS === '1';

/** How often a test of interrupted runs kills its command. */
export const KILLS = secondPass ? 3 : 10;

/** True after skipping a long test whose outcome hangs on the project's arithmetic or documents, not on the version of Node. */
export function skippedInSecondPass(t: TestContext): boolean {
  if (secondPass) t.skip('second pass: it ran on the first Node and takes long');
  return secondPass;
}
