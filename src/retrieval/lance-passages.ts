import { passageVectorColumns } from '../core/corpus.js';
import { readArrow } from '../core/arrow.js';
import { InputError } from '../core/errors.js';
import { canonicalJson, sha256 } from '../core/hash.js';
import type { RetrievedDocument } from '../core/retrieved-pages.js';
import type { CorpusFolder } from './corpus-folder.js';
import { innerProduct } from './dense-index.js';
import { denseIdentity } from './dense-passages.js';
import { type EncodeQueries, type PassageSource, RetrieverError, queryVectors } from './passage-source.js';

/** Loads an npm package; a test passes one that answers for packages that are absent here. */
export type LoadPackage = (name: string) => Promise<unknown>;

export interface LanceOptions {
  /** Folder of the LanceDB database; the vectors are copied into a table of it where that is not there yet. */
  database: string;
  encode: EncodeQueries;
  signal?: AbortSignal | undefined;
  load?: LoadPackage | undefined;
}

/** What is used of `@lancedb/lancedb`, by structure: it is an optional peer, found at run time. */
interface LanceDb {
  connect(path: string): Promise<{
    tableNames(): Promise<string[]>;
    openTable(name: string): Promise<LanceTable>;
    createTable(name: string, rows: LanceRow[]): Promise<LanceTable>;
    dropTable(name: string): Promise<void>;
  }>;
}
interface LanceTable {
  countRows(): Promise<number>;
  add(rows: LanceRow[]): Promise<unknown>;
  vectorSearch(vector: Float32Array | number[]): LanceQuery;
}
interface LanceQuery {
  distanceType(type: 'dot'): LanceQuery;
  bypassVectorIndex(): LanceQuery;
  limit(count: number): LanceQuery;
  toArray(): Promise<LanceHit[]>;
}
interface LanceHit {
  /** A vector of Arrow. */
  vector: Iterable<number>;
  number: number;
  part: number;
  row: number;
  _distance: number;
}
interface LanceRow {
  [field: string]: unknown;
  vector: number[];
  number: number;
  part: number;
  row: number;
}

const PACKAGE = '@lancedb/lancedb';
const ROWS_AT_ONCE = 4096;

/**
 * Dense retrieval over an embedded corpus whose vectors lie in a LanceDB table: the same hits as `densePassages`, found by a native library. The
 * search is exact (no vector index is used). LanceDB scores in 32-bit floats, too coarse to say which passages are the best: it is asked for all
 * that may be among them, and their scores are taken anew in 64-bit floats. A table that an interrupted copy left is made anew.
 *
 * @throws InputError where the package does not load; the embedded search needs none
 */
export async function lancePassages(corpus: CorpusFolder, options: LanceOptions): Promise<PassageSource> {
  const { database, encode, load = (name) => import(name) } = options;
  const table = await tableOf(await loaded(load), corpus, { database, signal: options.signal });
  return {
    identity: { ...denseIdentity(corpus), search: 'exact inner product by LanceDB' },
    find: async (query, top) => {
      const [vector] = await queryVectors(encode, [query]);
      if (vector instanceof RetrieverError) throw vector;
      const hits = await bestOf(table, vector as Float32Array, { top, passages: corpus.passages });
      const found: RetrievedDocument[] = [];
      for (const { part, row, score } of hits) {
        const { title, sentences } = await (corpus.parts[part] as CorpusFolder['parts'][number]).passages.row(row);
        found.push({ title, sentences, score });
      }
      return found;
    },
  };
}

interface LanceBest {
  part: number;
  row: number;
  number: number;
  /** As in `DenseHit`. */
  score: number;
}

/** The best hits in 64-bit floats, of equal scores the one that stands first in the corpus. */
async function bestOf(table: LanceTable, query: Float32Array, { top, passages }: { top: number; passages: number }): Promise<LanceBest[]> {
  // What 32-bit sums of products of unit-length vectors may be off by, for two of them.
  const slack = 2 * query.length * 2 ** -23;
  for (let limit = Math.min(passages, top + MORE_HITS); ; limit = Math.min(passages, 2 * limit)) {
    const rows = await table.vectorSearch(query).distanceType('dot').bypassVectorIndex().limit(limit).toArray();
    const distances = rows.map(({ _distance }) => _distance).toSorted((a, b) => a - b);
    const [border, last] = [distances[Math.min(top, rows.length) - 1] ?? 0, distances.at(-1) ?? 0];
    // Behind the last one something just as good may be left out.
    if (limit < passages && last - border <= slack) continue;
    const hits = rows.map(({ number, part, row, vector }) => ({
      number,
      part,
      row,
      score: innerProduct(Float32Array.from(vector), query),
    }));
    return hits.sort((a, b) => b.score - a.score || a.number - b.number).slice(0, top);
  }
}

/** Hits that are asked for beyond the wanted ones, at first. */
const MORE_HITS = 32;

async function loaded(load: LoadPackage): Promise<LanceDb> {
  try {
    return (await load(PACKAGE)) as LanceDb;
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === 'ERR_MODULE_NOT_FOUND' ? 'is not installed' : `does not load (${message.split('\n')[0] ?? ''})`;
    throw new InputError(`--lancedb: ${PACKAGE} ${why}; without --lancedb the same search runs here`);
  }
}

async function tableOf(
  lance: LanceDb,
  corpus: CorpusFolder,
  { database, signal }: Pick<LanceOptions, 'database' | 'signal'>,
): Promise<LanceTable> {
  const connection = await lance.connect(database);
  // Vectors of another corpus, encoder or division have another name.
  const rows = corpus.parts.map(({ passages }) => passages.rows);
  const name = `passages-${sha256(canonicalJson([corpus.corpus, corpus.encoder, rows])).slice(0, 16)}`;
  if ((await connection.tableNames()).includes(name)) {
    const known = await connection.openTable(name);
    if ((await known.countRows()) === corpus.passages) return known;
    await connection.dropTable(name);
  }
  let table: LanceTable | undefined;
  let waiting: LanceRow[] = [];
  const flush = async (): Promise<void> => {
    signal?.throwIfAborted();
    if (table) await table.add(waiting);
    else table = await connection.createTable(name, waiting);
    waiting = [];
  };
  for (const [part, { vectors, numberOf }] of corpus.parts.entries()) {
    let row = 0;
    for await (const { vector } of readArrow(vectors, passageVectorColumns)) {
      waiting.push({ vector: Array.from(vector), number: numberOf(row), part, row });
      row++;
      if (waiting.length === ROWS_AT_ONCE) await flush();
    }
  }
  if (waiting.length > 0) await flush();
  return table as unknown as LanceTable;
}
