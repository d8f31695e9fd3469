import type { VerifierArchitecture } from './verifier-export.js';

/** One input or output of a verifier's graph. A number in `shape` is a size that has to hold, a name one that is free. */
export interface VerifierPort {
  name: string;
  type: 'float32' | 'int64';
  shape: readonly (number | string)[];
}

/**
 * What a verifier's graph takes and gives, in the trainer's order: it scores a few candidates at a few positions, and no output is as wide as
 * the vocabulary. `train/trainer/graph.py` writes the same.
 */
export function verifierPorts({ layers, kv_heads: heads, head_dim: size }: VerifierArchitecture): {
  inputs: VerifierPort[];
  outputs: VerifierPort[];
} {
  const caches = (side: CacheSide, tokens: string): VerifierPort[] =>
    Array.from({ length: layers }, (_, layer) =>
      (['key', 'value'] as const).map((part): VerifierPort => ({
        name: cacheName(side, layer, part),
        type: 'float32',
        shape: ['batch', heads, tokens, size],
      })),
    ).flat();
  return {
    inputs: [
      { name: 'input_ids', type: 'int64', shape: ['batch', 'tokens'] },
      { name: 'position_ids', type: 'int64', shape: ['batch', 'tokens'] },
      { name: 'attention_bias', type: 'float32', shape: ['batch', 1, 'tokens', 'past + tokens'] },
      { name: 'score_positions', type: 'int64', shape: ['rows'] },
      { name: 'candidate_ids', type: 'int64', shape: ['candidates'] },
      ...caches('past_key_values', 'past'),
    ],
    outputs: [{ name: 'logprobs', type: 'float32', shape: ['rows', 'candidates'] }, ...caches('present', 'past + tokens')],
  };
}

type CacheSide = 'past_key_values' | 'present';

/** The keys or values of one layer: those that stand before the tokens, or all that stand behind the pass. */
export function cacheName(side: CacheSide, layer: number, part: 'key' | 'value'): string {
  return `${side}.${layer}.${part}`;
}
