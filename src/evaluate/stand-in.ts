import { type ClaimSource, CLAIM_SOURCES } from '../core/claims.js';
import type { EncoderIdentity } from '../core/embeddings.js';
import { openDrafter } from '../../runtime/index.js';

/** Vectors, made from a question's own, that stand for its claims in the margin (method.md §7). */
export interface StandIn {
  /** sha256 of the drafter; null for a baseline. */
  readonly sha256: string | null;
  /** Where the claims came from that it learnt; null where that was never said. */
  readonly claimSource: ClaimSource | null;
  targets(question: Float32Array): Promise<readonly Float32Array[]>;
  close(): Promise<void>;
}

/** A drafter's slots. Throws as `openDrafter` does: another encoder is refused by name. */
export async function draftedStandIn(folder: string, encoder: EncoderIdentity, warn?: (message: string) => void): Promise<StandIn> {
  const drafter = await openDrafter(folder, { encoder, warn });
  return {
    sha256: drafter.sha256,
    claimSource: CLAIM_SOURCES.find((one) => one === drafter.details.claim_source) ?? null,
    targets: async (question) => (await drafter.draft(question)).slots,
    close: () => drafter.close(),
  };
}
