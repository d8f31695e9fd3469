import { type EmbeddingRow, embeddingColumns } from '../../src/core/embeddings.js';
import type { Manifest } from '../../src/core/manifest.js';
import { type TableFormat, openOutputFolder } from '../../src/core/output-folder.js';
import type { OnProgress } from '../../src/core/progress.js';
import { identityHash } from './embedding-cache.js';
import type { EmbeddingTexts } from './embedding-texts.js';
import type { Encoder } from './encoder.js';

export interface WriteEmbeddingsOptions {
  dir: string;
  seed: number;
  /** Default `arrow`. */
  format?: TableFormat | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
  onProgress?: OnProgress | undefined;
}

/**
 * Encodes the texts and writes them as a folder of kind `embeddings`, sorted by key. A killed run goes on where it was when the encoder is a cached
 * one: its finished texts come from the cache, and a text's vector does not depend on what it is encoded together with.
 */
export async function writeEmbeddings(texts: EmbeddingTexts, encoder: Encoder, options: WriteEmbeddingsOptions): Promise<Manifest> {
  const { entries, details } = texts;
  const format = options.format ?? 'arrow';
  const out = await openOutputFolder({
    dir: options.dir,
    kind: 'embeddings',
    command: 'embed',
    options: {
      encoder: `${encoder.identity.name} ${identityHash(encoder.identity)}`,
      what: details.what,
      claims: details.claims.map((one) => one.name),
      'claim-text': details.claims.map((one) => one.claim_texts),
      'evidence-text': details.evidence_texts,
      format,
    },
    seed: options.seed,
    inputs: texts.inputs.filter((file, at) => texts.inputs.indexOf(file) === at),
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return out.finished;
  const vectors = new Map<string, Float32Array>();
  for (const role of ['query', 'passage'] as const) {
    const of = entries.filter((entry) => entry.role === role);
    const before = vectors.size;
    const encoded = await encoder.encode(
      of.map((entry) => entry.text),
      role,
      { signal: options.signal, onProgress: (done) => options.onProgress?.(before + done, entries.length) },
    );
    for (const [at, { key }] of of.entries()) vectors.set(key, encoded[at] as Float32Array);
  }
  const rows = entries.map(({ key, text, role }): EmbeddingRow => ({ key, text, role, vector: vectors.get(key) as Float32Array }));
  const count = await out.table('embeddings', embeddingColumns, rows, format);
  return out.finish({
    counts: { rows: count, ...texts.counts },
    warnings: [...texts.warnings, ...cutTexts(texts, encoder)],
    details: { encoder: encoder.identity, ...details },
  });
}

/** A text that is cut off gets a plausible vector all the same, so it is said. */
function cutTexts({ entries }: EmbeddingTexts, encoder: Encoder): string[] {
  const limit = encoder.identity.max_tokens;
  // A server does not say; it may refuse such a text, or cut it.
  if (limit === null) return [];
  const prefix = Math.max(encoder.identity.query_prefix.length, encoder.identity.passage_prefix.length);
  // A token stands for a byte of UTF-8 or more, so only long texts have to be counted.
  const long = entries.filter(({ text }) => Buffer.byteLength(text) + prefix + 2 > limit);
  const cut = long.filter(({ text, role }) => encoder.tokenCount(text, role) > limit).length;
  return cut === 0
    ? []
    : [`${cut} of ${entries.length} texts have more than the encoder's ${limit} tokens; what lies beyond was not embedded`];
}
