import { join } from 'node:path';
import { z } from 'zod';
import {
  PASSAGE_TEXT,
  type Passage,
  type PassageRow,
  SHARD_BLOCK,
  partTables,
  passageColumns,
  passageText,
  passageVectorColumns,
} from '../../src/core/corpus.js';
import { InputError } from '../../src/core/errors.js';
import { hashFile } from '../../src/core/hash.js';
import type { Manifest } from '../../src/core/manifest.js';
import { type OutputFolder, openOutputFolder } from '../../src/core/output-folder.js';
import { idTally } from '../../src/core/repeated-ids.js';
import { SPLITTER, splitSentences } from '../../src/core/sentences.js';
import { identityHash } from './embedding-cache.js';
import type { Encoder } from './encoder.js';

export interface CorpusWriteOptions {
  dir: string;
  /** The corpus file, for the manifest. */
  file: string;
  seed: number;
  /** Which of how many shards; default 0 of 1, the whole corpus. */
  shard?: { index: number; of: number } | undefined;
  /** Passages of a part, whose vectors have at most 1 GiB. Default 32,768. */
  partRows?: number | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Lines of the file that are no passages, filled while `passages` is read; listed in `quarantine.jsonl`. */
  left?: readonly { line: number; reason: string; detail: string }[] | undefined;
  /** Passages of this shard that are embedded; their total is not known before the end. */
  onProgress?: ((done: number) => void) | undefined;
}

/** What one shard came out as, and how much of it this process did. */
export interface WrittenCorpus {
  manifest: Manifest;
  /** Passages that this process encoded. */
  encoded: number;
}

export const DEFAULT_PART_ROWS = 32_768;
/** One Arrow file of vectors holds at most 1 GiB of them. */
export const MAX_PART_BYTES = 1024 ** 3;
/** Passages that are given to the encoder at once. */
const CHUNK = 256;

const partEntry = z.strictObject({ part: z.int(), rows: z.int(), passages: z.string(), vectors: z.string() });
type PartEntry = z.infer<typeof partEntry>;

/**
 * Embeds a corpus, or one shard of it, into a folder of kind `corpus`: parts of two tables (core's `corpus.ts`), each written whole before it
 * is journalled with its hashes, so that a killed run goes on behind the last whole part and ends with the same bytes. Shards are disjoint and
 * need nothing of each other: any scheduler may run them. A passage is encoded under the role `passage`, title and text together.
 *
 * @param passages All of the corpus in order, whatever the shard.
 * @throws InputError for a shard without a passage
 */
export async function writeCorpus(passages: AsyncIterable<Passage>, encoder: Encoder, options: CorpusWriteOptions): Promise<WrittenCorpus> {
  const { shard = { index: 0, of: 1 }, partRows = DEFAULT_PART_ROWS, signal } = options;
  const { dimensions } = encoder.identity;
  if (partRows * dimensions * 4 > MAX_PART_BYTES)
    throw new InputError(
      `--part-rows: got ${partRows}, expected at most ${Math.floor(MAX_PART_BYTES / dimensions / 4)} vectors of ${dimensions} numbers (1 GiB)`,
    );
  const out = await openOutputFolder({
    dir: options.dir,
    kind: 'corpus',
    command: 'corpus embed',
    options: {
      encoder: `${encoder.identity.name} ${identityHash(encoder.identity)}`,
      shard: `${shard.index}/${shard.of}`,
      'part-rows': partRows,
    },
    seed: options.seed,
    inputs: [options.file],
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return { manifest: out.finished, encoded: 0 };
  const journal = await out.journal('parts.journal', (value) => partEntry.parse(value));
  const finished = await wholeParts(out, journal.done);
  const counts = { passages: 0, sentences: 0, cut_passages: 0 };
  let [encoded, parts, seen, sentences] = [0, 0, 0, 0];

  const write = async (rows: { row: PassageRow; text: string }[]): Promise<void> => {
    const names = partTables(parts);
    for (const { row, text } of rows) {
      sentences += row.sentences.length;
      if (cut(text, encoder)) counts.cut_passages++;
    }
    if (finished[parts]?.rows === rows.length) for (const name of Object.values(names)) await out.keep(`${name}.arrow`);
    else {
      const vectors: Float32Array[] = [];
      for (let from = 0; from < rows.length; from += CHUNK) {
        const chunk = rows.slice(from, from + CHUNK).map(({ text }) => text);
        vectors.push(...(await encoder.encode(chunk, 'passage', { signal })));
        encoded += chunk.length;
        options.onProgress?.(counts.passages - rows.length + from + chunk.length);
      }
      await out.table(
        names.passages,
        passageColumns,
        rows.map(({ row }) => row),
        'arrow',
      );
      await out.table(
        names.vectors,
        passageVectorColumns,
        vectors.map((vector) => ({ vector })),
        'arrow',
      );
      await journal.append({ part: parts, rows: rows.length, ...(await hashes(out, parts)) });
    }
    parts++;
  };

  const ids = idTally();
  let rows: { row: PassageRow; text: string }[] = [];
  for await (const passage of passages) {
    const number = seen++;
    ids.add(passage.id);
    if (Math.floor(number / SHARD_BLOCK) % shard.of !== shard.index) continue;
    signal?.throwIfAborted();
    counts.passages++;
    const row = { passage: number, id: passage.id, title: passage.title, sentences: splitSentences(passage.text) };
    if (rows.push({ row, text: passageText(passage) }) === partRows) {
      await write(rows);
      rows = [];
    }
  }
  if (rows.length > 0) await write(rows);
  if (counts.passages === 0) {
    await out.discard();
    throw new InputError(`--shard ${shard.index}/${shard.of}: has no passage; the corpus has ${seen}, in blocks of ${SHARD_BLOCK}`, {
      file: options.file,
    });
  }
  const { left = [] } = options;
  const quarantined: { [reason: string]: number } = {};
  for (const { reason } of left) quarantined[reason] = (quarantined[reason] ?? 0) + 1;
  await out.jsonl(
    'quarantine.jsonl',
    left.map((one) => ({ action: 'skipped', ...one })),
  );
  const warnings: string[] = [];
  const repeated = ids.repeated();
  if (repeated > 0) warnings.push(`${repeated} of the corpus's ${seen} passages have an id that stood before; all are kept`);
  if (counts.cut_passages > 0)
    warnings.push(
      `${counts.cut_passages} of ${counts.passages} passages have more than the encoder's ${encoder.identity.max_tokens} tokens; what lies beyond was not embedded`,
    );
  const manifest = await out.finish({
    quarantined,
    counts: { ...counts, sentences, parts, corpus_passages: seen, ...(repeated > 0 && { repeated_ids: repeated }) },
    warnings,
    details: { encoder: encoder.identity, splitter: SPLITTER, text: PASSAGE_TEXT, shard: shard.index, of: shard.of },
  });
  return { manifest, encoded };
}

/** The parts that an interrupted run had finished, in order, as far as they are what it wrote. */
async function wholeParts(out: OutputFolder, done: readonly PartEntry[]): Promise<PartEntry[]> {
  const whole: PartEntry[] = [];
  for (;;) {
    const part = whole.length;
    // A damaged part was made, and journalled, anew.
    const entry = done.findLast((one) => one.part === part);
    const now = entry && (await hashes(out, part).catch(() => undefined));
    if (!entry || now?.passages !== entry.passages || now.vectors !== entry.vectors) break;
    whole.push(entry);
  }
  return whole;
}

async function hashes(out: OutputFolder, part: number): Promise<Pick<PartEntry, 'passages' | 'vectors'>> {
  const { passages, vectors } = partTables(part);
  const of = async (name: string): Promise<string> => (await hashFile(join(out.temporary(`${name}.arrow`)))).sha256;
  return { passages: await of(passages), vectors: await of(vectors) };
}

/** A token stands for a byte of UTF-8 or more, so only long texts have to be counted. */
function cut(text: string, encoder: Encoder): boolean {
  const { max_tokens: limit, passage_prefix: prefix } = encoder.identity;
  // A server does not say.
  if (limit === null) return false;
  return Buffer.byteLength(text) + prefix.length + 2 > limit && encoder.tokenCount(text, 'passage') > limit;
}
