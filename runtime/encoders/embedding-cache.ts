import { randomBytes } from 'node:crypto';
import { closeSync, openSync, readSync, writeSync } from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { type EncoderIdentity, type Role, embeddingKey } from '../../src/core/embeddings.js';
import { canonicalJson, sha256 } from '../../src/core/hash.js';
import { writeFileAtomic } from '../../src/core/output-folder.js';
import type { Encoder } from './encoder.js';

/** Texts that are encoded between two writes: what a kill can cost. */
const CHUNK_TEXTS = 256;
const KEY_BYTES = 32;
const CRC_BYTES = 4;
/** Records that are read at once while a shard is looked through. */
const READ_RECORDS = 1024;

export interface CacheCounts {
  /** Calls of the encoder below, each with at most 256 texts. */
  calls: number;
  /** Different texts that the encoder below was given. */
  encoded: number;
  /** Different texts found on the disk. */
  cached: number;
}

export interface CachedEncoder extends Encoder {
  /** Since it was made. */
  readonly counts: Readonly<CacheCounts>;
}

/**
 * An encoder that keeps every vector on the disk, by role and text, in a folder of its identity below `cacheDir/embeddings`. Each process adds to a
 * shard file of its own, record by record with a checksum, so concurrent processes never meet and a kill costs at most the record it tore. Closing
 * it closes the encoder below.
 */
export async function cachedEncoder(encoder: Encoder, cacheDir: string): Promise<CachedEncoder> {
  const store = await openStore(join(cacheDir, 'embeddings', identityHash(encoder.identity)), encoder.identity);
  const counts: CacheCounts = { calls: 0, encoded: 0, cached: 0 };
  return {
    identity: encoder.identity,
    counts,
    tokenCount: (text, role) => encoder.tokenCount(text, role),
    encode: async (texts, role, options = {}) => {
      const keys = texts.map((text) => embeddingKey(role, text));
      const found = store.read(keys);
      const missing = new Map<string, string>();
      for (const [at, key] of keys.entries()) if (!found.has(key)) missing.set(key, texts[at] as string);
      counts.cached += found.size;
      const total = found.size + missing.size;
      for (const chunk of chunksByLength([...missing])) {
        options.signal?.throwIfAborted();
        options.onProgress?.(found.size, total);
        const vectors = await encodeChunk(encoder, chunk, role, options.signal);
        counts.calls++;
        counts.encoded += chunk.length;
        store.append(chunk.map(([key], at) => [key, vectors[at] as Float32Array]));
        for (const [at, [key]] of chunk.entries()) found.set(key, vectors[at] as Float32Array);
      }
      options.onProgress?.(total, total);
      return keys.map((key) => found.get(key) as Float32Array);
    },
    close: async () => {
      store.close();
      await encoder.close();
    },
  };
}

/** Names an encoder's vectors: everything that moves them is in its identity. */
export function identityHash(identity: EncoderIdentity): string {
  return sha256(canonicalJson(identity)).slice(0, 32);
}

function encodeChunk(
  encoder: Encoder,
  chunk: readonly (readonly [string, string])[],
  role: Role,
  signal: AbortSignal | undefined,
): Promise<Float32Array[]> {
  return encoder.encode(
    chunk.map(([, text]) => text),
    role,
    { signal },
  );
}

/** Texts of like length together, so that the encoder's batches are full although a chunk is small. */
function chunksByLength(missing: [string, string][]): [string, string][][] {
  const sorted = missing.toSorted(([, a], [, b]) => a.length - b.length);
  return Array.from({ length: Math.ceil(sorted.length / CHUNK_TEXTS) }, (_, at) => sorted.slice(at * CHUNK_TEXTS, (at + 1) * CHUNK_TEXTS));
}

interface Store {
  /** Those of the keys that are on the disk. */
  read(keys: readonly string[]): Map<string, Float32Array>;
  append(records: readonly (readonly [string, Float32Array])[]): void;
  close(): void;
}

/** A record is the key's 32 bytes, the vector's 32-bit floats, and a CRC-32 of both. */
async function openStore(folder: string, identity: EncoderIdentity): Promise<Store> {
  await mkdir(folder, { recursive: true });
  await writeFileAtomic(join(folder, 'identity.json'), `${canonicalJson(identity)}\n`);
  const vectorBytes = identity.dimensions * 4;
  const recordBytes = KEY_BYTES + vectorBytes + CRC_BYTES;
  const index = new Map<string, { shard: string; at: number }>();
  for (const name of (await readdir(folder)).filter((one) => one.endsWith('.shard')).toSorted()) {
    const shard = join(folder, name);
    reading(shard, (file) => {
      for (const { key, at } of wholeRecords(file, recordBytes)) if (!index.has(key)) index.set(key, { shard, at });
    });
  }
  let own: { shard: string; file: number; bytes: number } | undefined;
  return {
    read: (keys) => {
      // Shard by shard: every process leaves one behind, and only so many files may be open.
      const wanted = new Map<string, Map<string, number>>();
      for (const key of keys) {
        const place = index.get(key);
        if (place !== undefined) wanted.set(place.shard, (wanted.get(place.shard) ?? new Map<string, number>()).set(key, place.at));
      }
      const found = new Map<string, Float32Array>();
      for (const [shard, places] of wanted) {
        reading(shard, (file) => {
          for (const [key, at] of places) {
            const vector = new Float32Array(identity.dimensions);
            readSync(file, new Uint8Array(vector.buffer), 0, vectorBytes, at + KEY_BYTES);
            found.set(key, vector);
          }
        });
      }
      return found;
    },
    append: (records) => {
      if (own === undefined) {
        const shard = join(folder, `${process.pid}-${randomBytes(6).toString('hex')}.shard`);
        own = { shard, file: openSync(shard, 'wx'), bytes: 0 };
      }
      const bytes = Buffer.concat(records.map(([key, vector]) => recordOf(key, vector)));
      for (let done = 0; done < bytes.length;) done += writeSync(own.file, bytes, done, bytes.length - done, own.bytes + done);
      for (const [position, [key]] of records.entries()) index.set(key, { shard: own.shard, at: own.bytes + position * recordBytes });
      own.bytes += bytes.length;
    },
    close: () => {
      if (own !== undefined) closeSync(own.file);
      own = undefined;
    },
  };
}

function reading(path: string, use: (file: number) => void): void {
  const file = openSync(path, 'r');
  try {
    use(file);
  } finally {
    closeSync(file);
  }
}

/** The records of a shard whose checksum holds; a torn tail, and anything else that is not whole, is passed over and made again. */
function* wholeRecords(file: number, recordBytes: number): Generator<{ key: string; at: number }> {
  const buffer = Buffer.alloc(recordBytes * READ_RECORDS);
  for (let start = 0; ; start += buffer.length) {
    const got = readSync(file, buffer, 0, buffer.length, start);
    for (let at = 0; at + recordBytes <= got; at += recordBytes) {
      const content = buffer.subarray(at, at + recordBytes - CRC_BYTES);
      if (crc32(content) === buffer.readUInt32LE(at + content.length)) yield { key: content.toString('hex', 0, KEY_BYTES), at: start + at };
    }
    if (got < buffer.length) return;
  }
}

function recordOf(key: string, vector: Float32Array): Buffer {
  const content = Buffer.concat([Buffer.from(key, 'hex'), new Uint8Array(vector.buffer, vector.byteOffset, vector.byteLength)]);
  const sum = Buffer.alloc(CRC_BYTES);
  sum.writeUInt32LE(crc32(content));
  return Buffer.concat([content, sum]);
}
