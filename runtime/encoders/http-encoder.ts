import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type EncoderIdentity, type Role, encoderIdentity, probeSignature, sameProbe } from '../../src/core/embeddings.js';
import { InputError, shown } from '../../src/core/errors.js';
import { canonicalJson } from '../../src/core/hash.js';
import { cacheFolder } from '../../src/core/homes.js';
import { writeFileAtomic } from '../../src/core/output-folder.js';
import { PostError, type PostOptions, limiter, postJson, serviceAddress } from '../../src/llm/index.js';
import { identityHash } from './embedding-cache.js';
import type { Encoder } from './encoder.js';

export interface HttpEncoderOptions extends Omit<PostOptions, 'signal'> {
  /** Address of an OpenAI-compatible `/v1/embeddings` server (TEI, Infinity, vLLM, Ollama), with or without `/v1`. */
  url: string;
  /** The model's name on the server. */
  model: string;
  /** Put before queries and claims here, not by the server; '' for nothing. There is no default: without its prefixes an encoder is another one. */
  queryPrefix: string;
  /** Put before evidence. */
  passagePrefix: string;
  /** Texts of one request at most. Default 32. */
  batch?: number | undefined;
  /** Requests under way at once. Default 4. */
  concurrency?: number | undefined;
  /** Where vectors are kept: one of its encoders that this server still is lends its identity. Default: core's `cacheFolder`. */
  cacheDir?: string | undefined;
}

/** What is encoded to tell one model behind a name from another: plain, figures, another alphabet, longer than a sentence. */
const PROBES: readonly (readonly [Role, string])[] = [
  ['query', 'Which river flows through the capital of Austria?'],
  ['query', '東京 1964 – 3,5 %'],
  ['passage', 'Vienna. The Danube flows through Vienna, the capital of Austria.'],
  [
    'passage',
    'A. A passage about nothing in particular, written so that it has more than one clause; it names no person, no place and no year.',
  ],
];

const reply = z.object({
  data: z.array(z.object({ index: z.int().nonnegative(), embedding: z.array(z.number()) })),
});

/**
 * An encoder behind a server. What a server does not say of its weights, the vectors of four probe texts stand for (`probeSignature`): its identity
 * is that of an encoder in the cache with the same name, prefixes and width whose probe vectors are these within the tolerance, else a new one. So a
 * model that is swapped behind its name is another encoder, and thresholds chosen on the old one are refused.
 *
 * Errors are InputErrors that name the address. Tokens cannot be counted, nor whether the server cut a text off.
 */
export async function openHttpEncoder(options: HttpEncoderOptions): Promise<Encoder> {
  const address = serviceAddress('--encoder-url', options.url, 'embeddings');
  const { batch = 32, concurrency = 4 } = options;
  const inTurn = limiter(concurrency);
  let width: number | undefined;
  const prefix = (role: Role): string => (role === 'query' ? options.queryPrefix : options.passagePrefix);

  const ask = async (input: readonly string[], signal: AbortSignal | undefined): Promise<Float32Array[]> => {
    const answer = await postJson(address, { model: options.model, input, encoding_format: 'float' }, { ...options, signal }).catch(
      (error: unknown) => {
        throw error instanceof PostError ? new InputError(error.message) : error;
      },
    );
    const parsed = reply.safeParse(answer);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      throw new InputError(`${address}: no embeddings (${issue?.path.join('.')}: ${issue?.message})`);
    }
    const rows = parsed.data.data.toSorted((a, b) => a.index - b.index);
    if (rows.length !== input.length || rows.some(({ index }, at) => index !== at))
      throw new InputError(`${address}: got ${rows.length} vectors for ${input.length} texts, expected one each`);
    return rows.map(({ embedding }, at) => {
      width ??= embedding.length;
      if (embedding.length !== width || width === 0)
        throw new InputError(`${address}: got a vector of ${embedding.length} numbers, expected ${width} as before`);
      return unit(embedding, `${address}: the vector of ${shown(input[at], 40)}`);
    });
  };
  const probes: Float32Array[] = [];
  for (const [role, text] of PROBES) probes.push(...(await ask([prefix(role) + text], undefined)));
  const identity = await knownIdentity(
    {
      name: options.model,
      model_sha256: probeSignature(probes),
      tokenizer_sha256: 'server',
      converter: null,
      query_prefix: options.queryPrefix,
      passage_prefix: options.passagePrefix,
      pooling: 'server',
      dtype: 'server',
      max_tokens: null,
      dimensions: (probes[0] as Float32Array).length,
    },
    cacheFolder(options.cacheDir),
  );
  return {
    identity,
    tokenCount: () => {
      throw new InputError(`${address}: tokens of a server's encoder cannot be counted here`);
    },
    encode: async (texts, role, { signal, onProgress } = {}) => {
      let done = 0;
      const parts = Array.from({ length: Math.ceil(texts.length / batch) }, (_, at) => texts.slice(at * batch, (at + 1) * batch));
      const ended = new AbortController();
      const stop = signal ? AbortSignal.any([signal, ended.signal]) : ended.signal;
      const vectors = parts.map((part) =>
        inTurn(async () => {
          const found = await ask(
            part.map((text) => prefix(role) + text),
            stop,
          );
          done += part.length;
          onProgress?.(done, texts.length);
          return found;
        }, stop),
      );
      try {
        return (await Promise.all(vectors)).flat();
      } catch (error) {
        // The first error ends the others.
        ended.abort(error);
        await Promise.allSettled(vectors);
        throw error;
      }
    },
    close: async () => undefined,
  };
}

function unit(values: readonly number[], what: string): Float32Array {
  const length = Math.hypot(...values);
  if (!Number.isFinite(length) || length === 0)
    throw new InputError(`${what} has ${length === 0 ? 'no length' : 'values that are no numbers'}`);
  return Float32Array.from(values, (value) => value / length);
}

/** Of the cache's encoders the first that this one still is: its vectors are found again though a server's figures are never quite the same. */
async function knownIdentity(measured: EncoderIdentity, cacheDir: string): Promise<EncoderIdentity> {
  const folder = join(cacheDir, 'embeddings');
  const names = await readdir(folder).catch(() => []);
  const known: EncoderIdentity[] = [];
  for (const name of names.toSorted((a, b) => (a < b ? -1 : 1))) {
    const text = await readFile(join(folder, name, 'identity.json'), 'utf8').catch(() => '{}');
    const parsed = encoderIdentity.safeParse(asJson(text));
    if (!parsed.success) continue;
    const others = (Object.keys(measured) as (keyof EncoderIdentity)[]).filter((field) => field !== 'model_sha256');
    if (others.every((field) => measured[field] === parsed.data[field]) && sameProbe(measured.model_sha256, parsed.data.model_sha256))
      known.push(parsed.data);
  }
  if (known[0] !== undefined) return known[0];
  // For the next process, though this one should keep no vectors.
  await writeFileAtomic(join(folder, identityHash(measured), 'identity.json'), `${canonicalJson(measured)}\n`);
  return measured;
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
