import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SHAPES, parameterCount, shapeOf } from '../../distill/index.js';

test('the four shapes have the parameters of the papers’ "921k" for a 768-d encoder', () => {
  // 768·320 + 320 + 320·256 + 256 + 256·(3·768 + 3) + (3·768 + 3) = 246,080 + 82,176 + 592,899
  assert.equal(parameterCount(SHAPES['320-256x3'], 768), 921_155);
  // 768·340 + 340 + 340·192 + 192 + 192·(4·768 + 4) + (4·768 + 4) = 261,460 + 65,472 + 593,668
  assert.equal(parameterCount(SHAPES['340-192x4'], 768), 920_600);
  // 768·512 + 512 + 512·256 + 256 + 256·(2·768 + 5) + (2·768 + 5) = 393,728 + 131,328 + 396,037
  assert.equal(parameterCount(SHAPES['512-256x2'], 768), 921_093);
  // 768·256 + 256 + 2·(256·256 + 256) + 256·(3·768 + 3) + (3·768 + 3) = 196,864 + 131,584 + 592,899
  assert.equal(parameterCount(SHAPES['256-256-256x3'], 768), 921_347);
});

test('another width keeps the trunk and scales the slots: 502,211 for the built-in encoder', () => {
  // 384·320 + 320 + 320·256 + 256 + 256·(3·384 + 3) + (3·384 + 3) = 123,200 + 82,176 + 296,835
  assert.equal(parameterCount(shapeOf('320-256x3'), 384), 502_211);
});

test('--slots changes slots and head alike, and is checked', () => {
  assert.deepEqual(shapeOf('320-256x3', 4), { hidden: [320, 256], slots: 4, counts: 4 });
  assert.deepEqual(shapeOf('512-256x2', 2), SHAPES['512-256x2']);
  assert.throws(() => shapeOf('320-256x3', 9), { name: 'InputError', message: '--slots: got 9, expected an integer from 1 to 8' });
  assert.throws(() => shapeOf('320-256x3', 1.5), { name: 'InputError', message: '--slots: got 1.5, expected an integer from 1 to 8' });
});
