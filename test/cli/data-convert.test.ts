import assert from 'node:assert/strict';
import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { openRecords } from '../../datasets/index.js';
import { collect } from '../../src/core/tables.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { dataOrSkip } from '../support/data.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { assertSurvivesKills } from '../support/killed-runs.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { writeSyntheticHotpotqa } from '../support/synthetic-hotpotqa.js';

async function outFolder(): Promise<string> {
  return join(await temporaryFolder(), 'records');
}

test('data convert writes a folder that reads as the file does, in both formats, and builds the same label rows', async () => {
  const questions = hotpotqaQuestions(12).map((one, at) => (at === 4 ? { ...one, question: '' } : one));
  const file = await temporaryFile('a.json.gz', gzipSync(JSON.stringify(questions)));
  const expected = await collect((await openRecords(file)).records);
  const direct = await hopgateJson(['labels', 'build', file, '--out', await outFolder()]);
  for (const format of ['arrow', 'jsonl']) {
    const out = await outFolder();
    const result = await hopgateJson(['data', 'convert', file, '--out', out, '--format', format, '--dataset-version', '1.1']);
    assert.deepEqual(Object.keys(result), ['out', 'counts', 'quarantined', 'warnings']);
    assert.deepEqual(result.quarantined, { no_question: 1 });
    assert.deepEqual((await readdir(out)).toSorted(), ['manifest.json', 'quarantine.jsonl', `records.${format}`]);
    const opened = await openRecords(out);
    assert.deepEqual(await collect(opened.records), expected);
    assert.deepEqual([opened.dataset, opened.splitter, opened.version], ['hotpotqa', 'dataset', '1.1']);
    const labels = await outFolder();
    assert.deepEqual((await hopgateJson(['labels', 'build', out, '--out', labels])).rows, direct.rows);
    const quarantine = (await readFile(join(out, 'quarantine.jsonl'), 'utf8')).trim().split('\n');
    assert.equal((JSON.parse(quarantine[0] as string) as { row: number }).row, 4);
  }
});

test('data convert of the real samples keeps every record', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  for (const [name, n] of [
    ['2wiki_dev_64.json', 64],
    ['musique_dev_100.jsonl', 100],
    ['hotpotqa_dev_100.hf.jsonl', 100],
    ['bamboogle_125.json', 125],
  ] as const) {
    const out = await outFolder();
    const { counts } = await hopgateJson(['data', 'convert', join(data, name), '--out', out]);
    assert.equal((counts as { records: number }).records, n, name);
    assert.deepEqual(await collect((await openRecords(out)).records), await collect((await openRecords(join(data, name))).records), name);
  }
});

test('with --strict a record that was left out or a dangling fact is exit 1, after all work is done', async () => {
  const questions = hotpotqaQuestions(3).map((one, at) =>
    at === 0 ? { ...one, supporting_facts: [...(one.supporting_facts as unknown[]), [(one.context as [string][])[0]?.[0], 99]] } : one,
  );
  const file = await temporaryFile('a.json', JSON.stringify(questions));
  const out = await outFolder();
  const ran = await hopgate(['data', 'convert', file, '--out', out, '--strict']);
  assert.deepEqual([ran.code, ran.stderr], [1, 'hopgate: --strict: 1 × dangling_sentence (quarantine.jsonl lists them)\n']);
  assert.equal((await collect((await openRecords(out)).records)).length, 3);
});

test('a gzip file that is cut off is exit 2 with its name, and nothing is left', async () => {
  const lines = hotpotqaQuestions(200)
    .map((one) => JSON.stringify(one))
    .join('\n');
  const packed = gzipSync(lines);
  const file = await temporaryFile('a.jsonl.gz', packed.subarray(0, packed.length - 20));
  const out = await outFolder();
  const ran = await hopgate(['data', 'convert', file, '--out', out]);
  assert.equal(ran.code, 2);
  assert.match(
    ran.stderr,
    new RegExp(`^hopgate: ${file}: truncated or damaged gzip file \\(unexpected end of file\\) behind byte \\d+ of its content\\n$`),
  );
  await assert.rejects(stat(out), { code: 'ENOENT' });
});

test('killed ten times at drawn moments, data convert goes on with --resume to the bytes of an undisturbed run', async (t) => {
  const file = join(await temporaryFolder(), 'synthetic.json');
  await writeSyntheticHotpotqa(file, { bytes: 3e7 });
  await assertSurvivesKills(t, ['data', 'convert', file]);
});
