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
  /** sha256 of the weights as they were given (for `minilm` the safetensors file). */
  model_sha256: z.string(),
  /** sha256 of its tokenizer.json: the same weights read other tokens under another one. */
  tokenizer_sha256: z.string(),
  /** Version of our own conversion of those weights, null where none was needed. */
  converter: z.nullable(z.string()),
  query_prefix: z.string(),
  passage_prefix: z.string(),
  pooling: z.enum(['mean', 'cls']),
  dtype: z.enum(['fp32', 'fp16', 'int8']),
  max_tokens: z.int().positive(),
  dimensions: z.int().positive(),
});
export type EncoderIdentity = z.infer<typeof encoderIdentity>;

/** What of a sentence is embedded (method.md §5); part of a threshold's identity. */
export const EVIDENCE_TEXTS = ['title+sentence', 'sentence'] as const;
export type EvidenceText = (typeof EVIDENCE_TEXTS)[number];

export function evidenceText(title: string, sentence: string, which: EvidenceText): string {
  return which === 'sentence' ? sentence : `${title}. ${sentence}`;
}
