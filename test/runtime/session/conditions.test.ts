import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type StopCondition, allOf, anyOf, covered, not, stepsAtLeast, stopped, tokensAtLeast } from '../../../runtime/index.js';
import { scriptedGate } from '../../support/scripted-gate.js';

test('P90: conditions are joined by any, all and not, asked in order, and no further than needed', async () => {
  const session = await scriptedGate(() => true).gate.open('Who?');
  const asked: string[] = [];
  const says =
    (name: string, word: boolean): StopCondition =>
    () => {
      asked.push(name);
      return word;
    };
  assert.equal(await anyOf(says('a', false), says('b', true), says('c', true))(session), true);
  assert.equal(await allOf(says('d', true), says('e', false), says('f', true))(session), false);
  assert.equal(await not(anyOf(says('g', false)))(session), true);
  assert.deepEqual(asked, ['a', 'b', 'd', 'e', 'g']);
  assert.deepEqual([await anyOf()(session), await allOf()(session)], [false, false]);
});

test('what a session knows of itself is a condition', async () => {
  const session = await scriptedGate(() => true).gate.open('Who?');
  const known = async (): Promise<boolean[]> =>
    Promise.all([stopped, covered, stepsAtLeast(1), tokensAtLeast(10)].map(async (one) => one(session)));
  assert.deepEqual(await known(), [false, false, false, false]);
  session.spend(10);
  await session.observe(['1,1,0']);
  assert.deepEqual(await known(), [true, true, true, true]);
});
