import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { ggufSha256 } from '../../src/llm/gguf-parts.js';
import { temporaryFolder } from '../support/files.js';

test('a model in one file is known by its bytes, a split one by those of every part', async () => {
  const folder = await temporaryFolder();
  const part = (at: number): string => join(folder, `m-q4-0000${at}-of-00003.gguf`);
  const whole = join(folder, 'm.gguf');
  await writeFile(whole, 'one');
  assert.equal(await ggufSha256(whole), createHash('sha256').update('one').digest('hex'));
  for (const at of [1, 2, 3]) await writeFile(part(at), `part ${at}`);
  const first = await ggufSha256(part(1));
  assert.match(first, /^[0-9a-f]{64}$/);
  await writeFile(part(3), 'another');
  assert.notEqual(await ggufSha256(part(1)), first);
  await assert.rejects(ggufSha256(part(2)), {
    name: 'InputError',
    message: `${part(2)}: is part 2 of a model, expected its first, "m-q4-00001-of-00003.gguf"`,
  });
  await rm(part(2));
  await assert.rejects(ggufSha256(part(1)), { name: 'InputError', message: `${part(2)}: no such file` });
});
