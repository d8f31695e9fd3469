import { sameEncoder } from '../../runtime/index.js';
import type { QuestionSource } from '../agents/index.js';
import type { Passage } from '../core/corpus.js';
import { InputError } from '../core/errors.js';
import { hashFile } from '../core/hash.js';
import type { Json } from '../core/manifest.js';
import { retrievedPages } from '../core/retrieved-pages.js';
import { SPLITTER } from '../core/sentences.js';
import { postJson } from '../llm/index.js';
import {
  DEFAULT_BM25,
  DEFAULT_PASSAGE_SENTENCES,
  type PassageSource,
  bm25Identity,
  bm25Passages,
  corpusPassages,
  densePassages,
  httpPassages,
  lancePassages,
  openCorpusFolder,
  passageRetriever,
} from '../retrieval/index.js';
import type { Terminal } from './command.js';
import { type EncoderFlags, encoderOf, encoderOptions } from './encoder-flags.js';
import { numberIn, wholeNumber } from './number-flags.js';

const RETRIEVERS = ['bm25', 'dense', 'http'] as const;

/** Flags of commands that search: over each question's own pages (setting A of method.md §9), or over a corpus (setting B). */
export interface RetrieverFlags extends EncoderFlags {
  retriever: (typeof RETRIEVERS)[number];
  corpus?: string;
  lancedb?: string;
  'retrieve-url'?: string;
  'retrieve-name'?: string;
  'retrieve-timeout': number;
  'retrieve-retries': number;
  'passage-sentences': number;
  k1: number;
  b: number;
}

export const retrieverOptions = {
  retriever: {
    type: 'string',
    choices: RETRIEVERS,
    default: 'bm25',
    describe: "bm25: over the question's own pages, or the passages of --corpus; dense: over --corpus; http: a server's /retrieve",
  },
  corpus: { type: 'string', describe: 'bm25: a corpus file (JSON lines or TSV), held in memory; dense: a folder of corpus embed' },
  lancedb: {
    type: 'string',
    describe: 'dense: folder of a LanceDB database that searches (npm @lancedb/lancedb); filled where it is empty',
  },
  'retrieve-url': { type: 'string', describe: 'http: address of a Search-R1 or FlashRAG retrieval server' },
  'retrieve-name': { type: 'string', describe: "http: what the server's index is called, for the manifest" },
  'retrieve-timeout': { type: 'number', default: 60, describe: 'http: seconds that one request may take' },
  'retrieve-retries': { type: 'number', default: 4, describe: 'http: how often a request is sent again after 429 or 5xx' },
  'passage-sentences': { type: 'number', default: DEFAULT_PASSAGE_SENTENCES, describe: 'first sentences of a passage that are kept' },
  k1: { type: 'number', default: DEFAULT_BM25.k1, describe: 'BM25: how soon repeats of a word stop counting' },
  b: { type: 'number', default: DEFAULT_BM25.b, describe: 'BM25: how far long sentences are held back' },
  ...encoderOptions,
  encoder: { ...encoderOptions.encoder, describe: 'dense: the encoder of the corpus; default: the one that its manifest names' },
} as const;

export interface OpenedRetriever {
  bm25: { k1: number; b: number };
  /** Undefined where every question is searched in its own pages. */
  corpus: (() => QuestionSource) | undefined;
  identity: Json;
  /** Options for the run's manifest. */
  options: { [name: string]: Json };
  /** Files for the run's manifest. */
  inputs: string[];
  /** What cut the sentences; null where the dataset's own are searched. */
  splitter: string | null;
  /** Sentences at most for each of the `top`. */
  sentences: number;
  /** What the searches took here, for `--json`. */
  work(): { [name: string]: number };
  close(): Promise<void>;
}

/** Opens the retriever that the flags name. Throws InputError for flags that do not belong together. The caller closes it. */
export async function openRetriever(flags: RetrieverFlags, terminal: Terminal): Promise<OpenedRetriever> {
  const bm25 = { k1: numberIn('k1', flags.k1, [0, Infinity]), b: numberIn('b', flags.b, [0, 1]) };
  const sentences = wholeNumber('passage-sentences', flags['passage-sentences']);
  const { retriever, corpus } = flags;
  if (retriever === 'http' ? flags['retrieve-url'] === undefined : flags['retrieve-url'] !== undefined)
    throw new InputError(
      retriever === 'http'
        ? '--retrieve-url: expected the address of a server for --retriever http'
        : `--retrieve-url: of no use with --retriever ${retriever}`,
    );
  if (retriever !== 'dense' && flags.lancedb !== undefined) throw new InputError(`--lancedb: of no use with --retriever ${retriever}`);
  if (retriever === 'http' && corpus !== undefined) throw new InputError('--corpus: of no use with --retriever http');
  if (retriever === 'bm25' && corpus === undefined)
    return {
      bm25,
      corpus: undefined,
      identity: bm25Identity(bm25),
      options: { ...bm25 },
      inputs: [],
      splitter: null,
      sentences: 1,
      work: () => ({}),
      close: () => Promise.resolve(),
    };

  const opened = await sourceOf(flags, { bm25, terminal });
  return {
    bm25,
    corpus: () => {
      const pages = retrievedPages();
      return { pages, retriever: passageRetriever(opened.source, pages, { sentences }) };
    },
    identity: { ...(opened.source.identity as { [field: string]: Json }), passage_sentences: sentences },
    options: { retriever, 'passage-sentences': sentences, ...opened.options },
    inputs: opened.inputs,
    splitter: opened.splitter,
    sentences,
    work: opened.work,
    close: opened.close,
  };
}

interface OpenedSource extends Pick<OpenedRetriever, 'options' | 'inputs' | 'work' | 'close'> {
  source: PassageSource;
  splitter: string;
}

async function sourceOf(
  flags: RetrieverFlags,
  { bm25, terminal }: { bm25: { k1: number; b: number }; terminal: Terminal },
): Promise<OpenedSource> {
  if (flags.retriever === 'http') {
    const name = flags['retrieve-name'] ?? null;
    const timeoutMs = 1000 * numberIn('retrieve-timeout', flags['retrieve-timeout'], [0.001, 86_400]);
    const retries = wholeNumber('retrieve-retries', flags['retrieve-retries'], 0);
    const source = httpPassages(flags['retrieve-url'] as string, {
      name,
      post: (address, body, { signal }) => postJson(address, body, { timeoutMs, retries, signal }),
    });
    return { source, splitter: SPLITTER, options: { 'retrieve-name': name }, inputs: [], work: () => ({}), close: () => Promise.resolve() };
  }
  if (flags.retriever === 'bm25') return bm25Source(flags.corpus as string, bm25, terminal);
  if (flags.corpus === undefined) throw new InputError('--corpus: expected a folder of corpus embed for --retriever dense');
  return denseSource(flags.corpus, flags, terminal);
}

async function bm25Source(file: string, bm25: { k1: number; b: number }, terminal: Terminal): Promise<OpenedSource> {
  const passages: Passage[] = [];
  let left = 0;
  const { signal } = terminal;
  for await (const passage of corpusPassages(file, { signal, onBad: () => left++ })) passages.push(passage);
  if (left > 0) terminal.warn(`${file}: ${left} lines are no passages and are left out`);
  const source = bm25Passages(passages, { ...bm25, corpus: (await hashFile(file)).sha256 });
  return { source, splitter: SPLITTER, options: { ...bm25 }, inputs: [file], work: () => ({}), close: () => Promise.resolve() };
}

async function denseSource(dir: string, flags: RetrieverFlags, terminal: Terminal): Promise<OpenedSource> {
  const corpus = await openCorpusFolder(dir);
  try {
    const encoder = await encoderOf({ ...flags }, corpus.encoder.name);
    try {
      sameEncoder(corpus.encoder, encoder.identity, {
        whose: 'the corpus',
        advice: 'queries have to be encoded as the passages were: name that encoder, or embed the corpus anew',
      });
    } catch (error) {
      await encoder.close();
      throw error;
    }
    const encode = (queries: readonly string[]): Promise<Float32Array[]> => encoder.encode(queries, 'query');
    const close = async (): Promise<void> => {
      await corpus.close();
      await encoder.close();
    };
    if (flags.lancedb !== undefined) {
      const source = await lancePassages(corpus, { database: flags.lancedb, encode, signal: terminal.signal }).catch(
        async (error: unknown) => {
          await encoder.close();
          throw error;
        },
      );
      const { splitter, manifests: inputs } = corpus;
      return { source, splitter, options: { lancedb: true }, inputs, work: () => ({}), close };
    }
    const source = densePassages(corpus, { encode });
    return {
      source,
      splitter: corpus.splitter,
      options: {},
      inputs: corpus.manifests,
      work: () => ({
        passes: source.work.passes,
        queries: source.work.queries,
        vectors: source.work.vectors,
        pass_seconds: Number(source.work.seconds.toFixed(3)),
      }),
      close,
    };
  } catch (error) {
    await corpus.close();
    throw error;
  }
}
