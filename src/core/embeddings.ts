import { z } from 'zod';
import { type Row, choice, text, vector } from './columns.js';
import { sha256 } from './hash.js';

/** On which side of a comparison a text stands. Encoders of the E5 family prefix the two differently, so it is never left open. */
export const ROLES = ['query', 'passage'] as const;
export type Role = (typeof ROLES)[number];

export const embeddingColumns = {
  /** `embeddingKey(role, text)`. */
  key: text(),
  text: text(),
  role: choice(ROLES),
  /** Unit length. */
  vector: vector(),
} as const;
export type EmbeddingRow = Row<typeof embeddingColumns>;

export function embeddingKey(role: Role, content: string): string {
  return sha256(`${role}\n${content}`);
}

/** Everything that moves an encoder's vectors, and with them every threshold chosen on them (method.md §5). */
export const encoderIdentity = z.strictObject({
  name: z.string(),
  /** sha256 of the weights as they were given (for `minilm` the safetensors file); behind a server `probe:` and `probeSignature`. */
  model_sha256: z.string(),
  /** sha256 of its tokenizer.json: the same weights read other tokens under another one; `server` behind one. */
  tokenizer_sha256: z.string(),
  /** Version of our own conversion of those weights, null where none was needed. */
  converter: z.nullable(z.string()),
  query_prefix: z.string(),
  passage_prefix: z.string(),
  pooling: z.enum(['mean', 'cls', 'server']),
  dtype: z.enum(['fp32', 'fp16', 'int8', 'server']),
  /** Null where a server does not say. */
  max_tokens: z.nullable(z.int().positive()),
  dimensions: z.int().positive(),
});
export type EncoderIdentity = z.infer<typeof encoderIdentity>;

const PROBE = 'probe:';
/** Components of each probe vector that a signature keeps, evenly spaced. */
const PROBE_COMPONENTS = 16;
const PROBE_STEP = 1e-4;
/**
 * Root mean square of two signatures' differences up to which they are one encoder's: servers answer the same text a little differently from one
 * batch or machine to the next. At 384 dimensions it stands for a cosine of 0.9998; another model's signature differs by about 0.07.
 */
export const PROBE_TOLERANCE = 0.001;

/** Stands for the weights of an encoder that cannot be hashed: components of its unit-length vectors of fixed texts, rounded. */
export function probeSignature(vectors: readonly Float32Array[]): string {
  const kept = vectors.flatMap((vector) =>
    Array.from({ length: PROBE_COMPONENTS }, (_, at) => vector[Math.floor((at * vector.length) / PROBE_COMPONENTS)] as number),
  );
  return PROBE + Buffer.from(Int16Array.from(kept, (value) => Math.round(value / PROBE_STEP)).buffer).toString('base64url');
}

/** Whether two `model_sha256` are signatures of one encoder, within PROBE_TOLERANCE. */
export function sameProbe(a: string, b: string): boolean {
  if (a === b) return true;
  if (!a.startsWith(PROBE) || !b.startsWith(PROBE)) return false;
  const [one, other] = [probeValues(a), probeValues(b)];
  if (one.length !== other.length || one.length === 0) return false;
  const sum = one.reduce((total, value, at) => total + (value - (other[at] as number)) ** 2, 0);
  return Math.sqrt(sum / one.length) * PROBE_STEP <= PROBE_TOLERANCE;
}

/** Whether a field of two identities says the same of their encoders. */
export function sameEncoderField<F extends keyof EncoderIdentity>(field: F, a: EncoderIdentity[F], b: EncoderIdentity[F]): boolean {
  return a === b || (field === 'model_sha256' && sameProbe(String(a), String(b)));
}

function probeValues(signature: string): Int16Array {
  const bytes = Buffer.from(signature.slice(PROBE.length), 'base64url');
  return new Int16Array(Uint8Array.from(bytes.subarray(0, bytes.length & ~1)).buffer);
}

/** What of a sentence is embedded (method.md §5); part of a threshold's identity. */
export const EVIDENCE_TEXTS = ['title+sentence', 'sentence'] as const;
export type EvidenceText = (typeof EVIDENCE_TEXTS)[number];

/** A sentence without a title stands alone. */
export function evidenceText(title: string, sentence: string, which: EvidenceText): string {
  return which === 'sentence' || title.trim() === '' ? sentence : `${title}. ${sentence}`;
}
