import assert from 'node:assert/strict';
import { appendFile, readFile, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openRecords } from '../../datasets/index.js';
import { sha256 } from '../../src/core/hash.js';
import { readRunQuestions } from '../../src/core/run-questions.js';
import { collect } from '../../src/core/tables.js';
import { commandFile, hopgate, hopgateJson } from '../support/cli.js';
import { type ChatAnswer, refusal, serveChat } from '../support/chat-server.js';
import { dataOrSkip } from '../support/data.js';
import { testHome } from '../support/encoder-cache.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { assertSurvivesKills } from '../support/killed-runs.js';
import { endRayHead, rayHeadOrSkip } from '../support/ray-head.js';
import { wordsEncoder } from '../support/words-encoder.js';

after(endRayHead);

const env = { HOPGATE_HOME: testHome };
const lines = (rows: readonly unknown[]): string => rows.map((one) => `${JSON.stringify(one)}\n`).join('');
const TOWNS = ['Alm', 'Birk', 'Cob', 'Dorn', 'Elm', 'Fenn', 'Gorse', 'Hale'];
const smallCorpus = (): Promise<string> =>
  temporaryFile(
    'corpus.jsonl',
    lines(
      TOWNS.map((town, at) => ({
        id: `${at}`,
        contents: `"${town}"\n${town} is a town. Its river is the ${TOWNS[at + 1] ?? 'Alm'}water. It is old.`,
      })),
    ),
  );
const questions = (): Promise<string> =>
  temporaryFile(
    'questions.json',
    JSON.stringify(TOWNS.map((town, at) => ({ id: `q${at}`, Question: `Which river has the town ${town}?`, answer: ['x'] }))),
  );

async function hashes(dir: string): Promise<string[]> {
  const names = (await readdir(dir)).toSorted();
  return Promise.all(names.map(async (name) => `${name} ${sha256(await readFile(join(dir, name)))}`));
}

test('Bamboogle, which has no pages, runs under setting B over a small corpus, as far as decisions and claims', async (t) => {
  const data = dataOrSkip(t);
  if (data === undefined) return;
  const passages: unknown[] = [];
  const file = await openRecords(join(data, '2wiki_dev_64.json'));
  for await (const { pages } of file.records)
    for (const { title, sentences } of pages) passages.push({ id: `${passages.length}`, title, text: sentences.join(' ') });
  const corpus = await temporaryFile('corpus.jsonl', lines(passages));
  const out = await temporaryFolder();
  const result = await hopgateJson([
    'trajectories',
    'run',
    join(data, 'bamboogle_125.json'),
    '--agent',
    'chain',
    '--corpus',
    corpus,
    '--out',
    out,
  ]);
  const counts = result.counts as { questions: number; without_pool: number; gold: { [outcome: string]: number } };
  assert.deepEqual([counts.questions, counts.without_pool, counts.gold], [125, 0, { none: 125 }]);
  const run = await collect(readRunQuestions(out));
  for (const { record, trajectory } of run) {
    assert.equal(trajectory.loops[0]?.query, record?.question);
    // At most three passages of at most twelve sentences a loop; what was retrieved is what the record's pages are.
    assert.ok((record?.pages.length ?? 0) <= 3 * trajectory.loops.length);
    for (const { sentences } of record?.pages ?? []) assert.ok(sentences.length <= 12);
    const brought = trajectory.loops.flatMap(({ sentences }) => sentences.map(({ page, sentence }) => `${page}/${sentence}`));
    assert.equal(brought.length, new Set(brought).size);
    assert.equal(brought.length, record?.pages.flatMap(({ sentences }) => sentences).length);
  }
  const claims = await hopgateJson(['claims', 'build', out, '--source', 'heuristic', '--out', join(out, 'claims', 'heuristic')]);
  assert.equal((claims.counts as { questions: number }).questions, 125);
});

test('a corpus embedded in shards gives the run of the corpus embedded whole; another encoder or prefix is refused', async () => {
  const corpus = await smallCorpus();
  const [whole, out] = [await temporaryFolder(), await temporaryFolder()];
  const embedded = await hopgateJson(['corpus', 'embed', corpus, '--out', whole], { env });
  assert.deepEqual(embedded.counts, { passages: 8, sentences: 24, cut_passages: 0, parts: 1, corpus_passages: 8 });
  const run = ['trajectories', 'run', await questions(), '--agent', 'chain', '--retriever', 'dense', '--corpus', whole];
  const searched = await hopgateJson([...run, '--out', out], { env });
  const { searches, counts } = searched as {
    searches: { queries: number; passes: number; vectors: number; pass_seconds: number };
    counts: { loops: number };
  };
  assert.equal(searches.queries, counts.loops);
  assert.ok(searches.passes < searches.queries && searches.vectors === 8 * searches.passes);

  // One question at a time: other passes, the same bytes.
  const serial = await temporaryFolder();
  await hopgateJson([...run, '--concurrency', '1', '--out', serial], { env });
  assert.deepEqual(await hashes(serial), await hashes(out));
  const [first] = await collect(readRunQuestions(out));
  assert.equal(first?.record?.pages.length, new Set(first?.record?.pages.map(({ title }) => title)).size);

  const folder = join(testHome, 'cache', 'models');
  const [model] = await readdir(folder);
  const other = await hopgate([...run, '--encoder', join(folder, model as string), '--out', await temporaryFolder()], { env });
  assert.equal(other.code, 2);
  assert.match(other.stderr, /encoder\.\w+ differs: the corpus was made with .*; queries have to be encoded as the passages were/);
});

test('an embedding of a corpus survives kills', async (t) => {
  const corpus = await temporaryFile(
    'corpus.jsonl',
    lines(Array.from({ length: 240 }, (_, at) => ({ id: `${at}`, title: `T ${at}`, text: `Town ${at} lies at river ${at * 7}.` }))),
  );
  await assertSurvivesKills(t, ['corpus', 'embed', corpus, '--part-rows', '40', '--cache-dir', join(testHome, 'cache')]);
});

const served = (queries: string[], topk: number): unknown[][] =>
  queries.map((query) =>
    TOWNS.toSorted((a, b) => Number(query.includes(b)) - Number(query.includes(a)))
      .slice(0, topk)
      .map((town, at) => ({ document: { id: town, contents: `"${town}"\n${town} is a town. It is old.` }, score: 1 - at / 10 })),
  );

test('a /retrieve server is asked in the protocol of Search-R1, again after 429 and 503, and with or without scores', async (t) => {
  const server = await serveChat(t, (body, number): ChatAnswer => {
    const { queries, topk } = body as unknown as { queries: string[]; topk: number };
    if (number === 0) return refusal(503, 'starting');
    if (number === 1) return refusal(429, 'busy', { 'retry-after': '0' });
    const result = served(queries, topk);
    return { result: number === 2 ? result.map((one) => one.map((hit) => (hit as { document: unknown }).document)) : result };
  });
  const out = await temporaryFolder();
  const args = [
    'trajectories',
    'run',
    await questions(),
    '--agent',
    'chain',
    '--retriever',
    'http',
    '--rows',
    '0..2',
    '--concurrency',
    '1',
  ];
  await hopgateJson([...args, '--retrieve-url', server.url, '--retrieve-name', 'towns', '--out', out]);
  assert.deepEqual(new Set(server.paths), new Set(['/retrieve']));
  assert.deepEqual(server.requests[0], { queries: ['Which river has the town Alm?'], topk: 3, return_scores: true });
  const [first, second] = await collect(readRunQuestions(out));
  assert.deepEqual(
    first?.trajectory.loops[0]?.sentences.slice(0, 3).map(({ title, text, score }) => [title, text, score]),
    [
      ['Alm', 'Alm is a town.', 0],
      ['Alm', 'It is old.', 0],
      ['Birk', 'Birk is a town.', 0],
    ],
  );
  assert.equal(second?.trajectory.loops[0]?.sentences[0]?.score, 1);
  const manifest = await readFile(join(out, 'manifest.json'), 'utf8');
  assert.ok(!manifest.includes(server.url) && manifest.includes('"index": "towns"'));
});

test('a question whose search fails harms no other, and --resume asks for it alone', async (t) => {
  let broken = true;
  const server = await serveChat(t, (body): ChatAnswer => {
    const { queries, topk } = body as unknown as { queries: string[]; topk: number };
    if (broken && queries[0]?.includes('Birk')) return { result: 'none' };
    return { result: served(queries, topk) };
  });
  const out = await temporaryFolder();
  // The titles of the first loop are in the second query: only the first is asked for here.
  const args = [
    'trajectories',
    'run',
    await questions(),
    '--agent',
    'chain',
    '--budget',
    '1',
    '--retriever',
    'http',
    '--retrieve-url',
    `${server.url}/retrieve`,
    '--out',
    out,
  ];
  const failed = await hopgate(args);
  assert.equal(failed.code, 1);
  assert.match(
    failed.stderr,
    /1 of 8 questions failed; .* \(question "q1": http:.*\/retrieve: got \{"result":"none"\}, expected \{"result": \[\[…\]\]\} with one list of documents\)/,
  );
  broken = false;
  const before = server.requests.length;
  const result = await hopgateJson([...args, '--resume']);
  assert.equal((result.counts as { questions: number }).questions, 8);
  assert.equal(server.requests.length - before, 1);
});

test('the key in the query of a /retrieve address is in no message, whatever the server repeats', async (t) => {
  const query = '?api_key=SECRETSECRET99';
  const server = await serveChat(t, (_, number): ChatAnswer =>
    number === 0 ? refusal(404, `Cannot POST /retrieve${query}, key SECRETSECRET99`) : { result: 'none' },
  );
  const run = ['trajectories', 'run', await questions(), '--agent', 'chain', '--budget', '1', '--retriever', 'http', '--rows', '0..2'];
  const failed = await hopgate([...run, '--retrieve-url', `${server.url}/retrieve${query}`, '--out', await temporaryFolder()]);
  assert.equal(failed.code, 1);
  assert.deepEqual(server.paths, [`/retrieve${query}`, `/retrieve${query}`]);
  assert.match(failed.stderr, /http:\S+\/retrieve: status 404: .*Cannot POST \/retrieve…, key …/);
  assert.match(failed.stderr, /http:\S+\/retrieve: got \{"result":"none"\}/);
  assert.ok(!failed.stderr.includes('SECRET'), failed.stderr);
});

test('a query that the server of the encoder refuses harms no other question, is not sent the key of the language model, and is tried again by --resume', async (t) => {
  let broken = false;
  const server = await serveChat(t, async (body): Promise<ChatAnswer> => {
    const input = body.input as string[];
    if (broken && input.some((one) => one.includes('has the town Birk'))) return refusal(400, 'too long');
    const vectors = await wordsEncoder().encode(input, 'query');
    return { data: vectors.map((vector, index) => ({ index, embedding: [...vector] })) };
  });
  const keyed = { HOPGATE_HOME: await temporaryFolder(), HOPGATE_API_KEY: 'sk-of-the-language-model' };
  const encoder = ['--encoder', 'words', '--encoder-url', server.url, '--query-prefix', '', '--passage-prefix', ''];
  const [corpus, out] = [await temporaryFolder(), await temporaryFolder()];
  await hopgateJson(['corpus', 'embed', await smallCorpus(), ...encoder, '--out', corpus], { env: keyed });
  broken = true;
  const args = ['trajectories', 'run', await questions(), '--agent', 'chain', '--budget', '1', '--retriever', 'dense', '--corpus', corpus];
  const failed = await hopgate([...args, ...encoder, '--out', out], { env: keyed });
  assert.equal(failed.code, 1, failed.stderr);
  assert.match(failed.stderr, /1 of 8 questions failed; .* \(question "q1": http:\S+\/v1\/embeddings: status 400: /);
  broken = false;
  const result = await hopgateJson([...args, ...encoder, '--out', out, '--resume'], { env: keyed });
  assert.equal((result.counts as { questions: number }).questions, 8);
  assert.deepEqual(new Set(server.authorizations), new Set([undefined]));

  await hopgateJson([...args, ...encoder, '--encoder-key-env', 'HOPGATE_API_KEY', '--out', await temporaryFolder()], {
    env: { ...keyed, HOPGATE_HOME: await temporaryFolder() },
  });
  assert.equal(server.authorizations.at(-1), 'Bearer sk-of-the-language-model');
});

test('two interleaved runs over two corpora give the results of two serial ones', async () => {
  const [a, b] = [
    await smallCorpus(),
    await temporaryFile('other.tsv', TOWNS.map((town, at) => `${at}\t${town} has a mill. It turns.\t${town}`).join('\n')),
  ];
  const file = await questions();
  const run = async (corpus: string): Promise<string[]> => {
    const out = await temporaryFolder();
    await hopgateJson(['trajectories', 'run', file, '--agent', 'chain', '--corpus', corpus, '--out', out]);
    return hashes(out);
  };
  const serial = [await run(a), await run(b)];
  assert.deepEqual(await Promise.all([run(a), run(b)]), serial);
  assert.notDeepEqual(serial[0], serial[1]);
});

test('--repeat says that it changes nothing over a corpus', async () => {
  const args = ['trajectories', 'run', await questions(), '--agent', 'chain', '--corpus', await smallCorpus(), '--rows', '..1', '--repeat'];
  const ran = await hopgate([...args, '--out', await temporaryFolder()]);
  assert.equal(ran.code, 0);
  assert.match(ran.stderr, /--repeat: changes nothing over a corpus, where a passage met again always takes a place and adds nothing/);
});

test('flags of retrievers that do not belong together are refused', async () => {
  const base = ['trajectories', 'run', await questions(), '--agent', 'chain', '--out', await temporaryFolder()];
  for (const [flags, message] of [
    [['--retriever', 'dense'], '--corpus: expected a folder of corpus embed for --retriever dense'],
    [['--retriever', 'http'], '--retrieve-url: expected the address of a server for --retriever http'],
    [['--retrieve-url', 'http://x'], '--retrieve-url: of no use with --retriever bm25'],
    [['--retriever', 'http', '--retrieve-url', 'ftp://x'], '--retrieve-url: got "ftp://x", expected http or https'],
    [['--retriever', 'http', '--retrieve-url', 'http://x', '--corpus', 'y'], '--corpus: of no use with --retriever http'],
  ] as const) {
    const ran = await hopgate([...base, ...flags]);
    assert.equal(ran.code, 2);
    assert.ok(ran.stderr.includes(message), ran.stderr);
  }
});

test('the shards of a corpus run as jobs of a real Ray head, and a failed one goes on by the same command', async (t) => {
  const head = await rayHeadOrSkip(t);
  if (head === undefined) return;
  const [corpus, out] = [await smallCorpus(), join(await temporaryFolder(), 'out')];
  const gate = join(await temporaryFolder(), 'ready');
  const command = `test -e ${gate} && HOPGATE_HOME=${testHome} ${process.execPath} ${commandFile}`;
  const args = ['corpus', 'embed', corpus, '--out', out, '--ray', head.address, '--shards', '1', '--ray-command', command];
  const ray = { RAY_AUTH_TOKEN: head.token };
  const failed = await hopgate(args, { env: ray });
  assert.equal(failed.code, 1, failed.stderr);
  assert.match(failed.stderr, /1 of 1 shards failed; the same command goes on with them \(shard-00000-of-00001: /);
  await writeFile(gate, '');
  const done = await hopgateJson(args, { env: ray });
  assert.deepEqual(done.counts, { shards: 1 });
  // A job that the cluster has for done is done again where its shard is gone, or was made of another file.
  await rm(out, { recursive: true });
  await hopgateJson(args, { env: ray });
  await appendFile(corpus, lines([{ id: '8', contents: '"Ilm"\nIlm is a town. Its river is the Almwater. It is old.' }]));
  const other = await hopgate(args, { env: ray });
  assert.equal(other.code, 1, other.stderr);
  assert.match(other.stderr, /--force/);
  await hopgateJson([...args, '--force'], { env: ray });
  const whole = await temporaryFolder();
  await hopgateJson(['corpus', 'embed', corpus, '--out', whole, '--shard', '0/1'], { env });
  assert.deepEqual(await hashes(join(out, 'shard-00000-of-00001')), await hashes(join(whole, 'shard-00000-of-00001')));
});
