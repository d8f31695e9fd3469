import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { writeCorpus } from '../../runtime/index.js';
import { type CorpusFolder, corpusPassages, densePassages, lancePassages, openCorpusFolder } from '../../src/retrieval/index.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { wordsEncoder } from '../support/words-encoder.js';

const QUERIES = ['town of Alm', 'which river', 'number 17 of 40'];

async function smallCorpus(): Promise<CorpusFolder> {
  const lines = Array.from({ length: 300 }, (_, at) =>
    JSON.stringify({ id: `${at}`, title: `Alm ${at}`, text: `Town ${at} of ${at % 7} lies at river ${at * 3}.` }),
  );
  const file = await temporaryFile('corpus.jsonl', lines.join('\n'));
  const dir = await temporaryFolder();
  await writeCorpus(corpusPassages(file), wordsEncoder(), { dir, file, seed: 13, partRows: 120 });
  return openCorpusFolder(dir);
}

const encode = (queries: readonly string[]): Promise<Float32Array[]> => wordsEncoder().encode(queries, 'query');

type Row = { vector: number[]; number: number; part: number; row: number };

function distance32(a: readonly number[], b: Float32Array): number {
  return Math.fround(1 - a.reduce((sum, x, at) => Math.fround(sum + Math.fround(x * (b[at] as number))), 0));
}

/** What is used of LanceDB, over rows in memory that outlive a connection; it counts rows added. */
function memoryLance(): { added: number; tables: Map<string, Row[]>; load: () => Promise<unknown> } {
  const tables = new Map<string, Row[]>();
  const memory = { added: 0, tables, load: () => Promise.resolve({ connect }) };
  const table = (rows: Row[]): object => ({
    countRows: () => Promise.resolve(rows.length),
    add: (more: Row[]) => {
      memory.added += more.length;
      rows.push(...more);
      return Promise.resolve();
    },
    vectorSearch: (vector: Float32Array) => {
      let most = 0;
      const query = {
        distanceType: () => query,
        bypassVectorIndex: () => query,
        limit: (count: number) => {
          most = count;
          return query;
        },
        toArray: () =>
          Promise.resolve(
            rows
              .map((one) => ({ ...one, _distance: distance32(one.vector, vector) }))
              // Of equal distances any may come first.
              .toSorted((a, b) => a._distance - b._distance || b.number - a.number)
              .slice(0, most),
          ),
      };
      return query;
    },
  });
  const connect = (): Promise<object> =>
    Promise.resolve({
      tableNames: () => Promise.resolve([...tables.keys()]),
      openTable: (name: string) => Promise.resolve(table(tables.get(name) as Row[])),
      createTable: (name: string, rows: Row[]) => {
        memory.added += rows.length;
        tables.set(name, [...rows]);
        return Promise.resolve(table(tables.get(name) as Row[]));
      },
      dropTable: (name: string) => Promise.resolve(void tables.delete(name)),
    });
  return memory;
}

/** Hits agree to the bit, ties at the border of the five too. */
async function assertLikeDense(
  corpus: CorpusFolder,
  options: { database: string; load: (name: string) => Promise<unknown> },
): Promise<void> {
  const [ours, theirs] = [densePassages(corpus, { encode }), await lancePassages(corpus, { ...options, encode })];
  for (const query of QUERIES) {
    assert.deepEqual(await theirs.find(query, 5), await ours.find(query, 5));
  }
}

test('a LanceDB table is filled once, made anew where a copy was interrupted, and finds what the embedded search finds', async () => {
  const corpus = await smallCorpus();
  const memory = memoryLance();
  const options = { database: 'somewhere', load: memory.load };
  await assertLikeDense(corpus, options);
  assert.equal(memory.added, 300);
  await assertLikeDense(corpus, options);
  assert.equal(memory.added, 300);
  const [name, rows] = [...memory.tables][0] as [string, Row[]];
  memory.tables.set(name, rows.slice(0, 100));
  await assertLikeDense(corpus, options);
  assert.equal(memory.added, 600);
  await corpus.close();
});

test('the real LanceDB finds what the embedded search finds', async (t) => {
  const load = await lanceOrSkip(t);
  if (load === undefined) return;
  const corpus = await smallCorpus();
  await assertLikeDense(corpus, { database: join(await temporaryFolder(), 'db'), load });
  await corpus.close();
});

test('without the package the flag is named, and the search that needs none', async () => {
  const corpus = await smallCorpus();
  const missing = Object.assign(new Error('Cannot find package'), { code: 'ERR_MODULE_NOT_FOUND' });
  await assert.rejects(
    lancePassages(corpus, { database: 'x', encode, load: () => Promise.reject(missing) }),
    /^InputError: --lancedb: @lancedb\/lancedb is not installed; without --lancedb the same search runs here$/,
  );
  await corpus.close();
});

/** The package is an optional peer of 200 MB: where it was installed is said by HOPGATE_TEST_LANCEDB, a folder with node_modules. */
async function lanceOrSkip(t: TestContext): Promise<((name: string) => Promise<unknown>) | undefined> {
  const folder = process.env.HOPGATE_TEST_LANCEDB;
  if (folder !== undefined) return (name) => import(pathToFileURL(join(folder, 'node_modules', name, 'dist', 'index.js')).href);
  t.skip('needs @lancedb/lancedb: HOPGATE_TEST_LANCEDB does not name a folder with it');
  return undefined;
}
