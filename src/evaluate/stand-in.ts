import { type ClaimSource, CLAIM_SOURCES } from '../core/claims.js';
import type { EncoderIdentity } from '../core/embeddings.js';
import { DRAFTER_WEIGHTS, MEAN_CLAIMS } from '../core/drafter.js';
import { checkedFile, readManifest } from '../core/manifest.js';
import type { LearntFrom } from '../core/training-questions.js';
import { readSafetensors } from '../core/safetensors.js';
import { openDrafter } from '../../runtime/index.js';

/** Vectors, made from a question's own, that stand for its claims in the margin (method.md §7). */
export interface StandIn {
  /** sha256 of the drafter; null for a baseline. */
  readonly sha256: string | null;
  /** Where the claims came from that it learnt; null where that was never said. */
  readonly claimSource: ClaimSource | null;
  /** What a question did for the drafter. */
  readonly learntFrom: LearntFrom;
  targets(question: Float32Array): Promise<readonly Float32Array[]>;
  close(): Promise<void>;
}

/** A drafter's slots. Throws as `openDrafter` does: another encoder is refused by name, and so is a folder that does not say what it learnt from. */
export async function draftedStandIn(folder: string, encoder: EncoderIdentity, warn?: (message: string) => void): Promise<StandIn> {
  const drafter = await openDrafter(folder, { encoder, warn });
  return {
    sha256: drafter.sha256,
    learntFrom: drafter.learntFrom,
    claimSource: CLAIM_SOURCES.find((one) => one === drafter.details.claim_source) ?? null,
    targets: async (question) => (await drafter.draft(question)).slots,
    close: () => drafter.close(),
  };
}

/** The question's own vector for all its claims: the second baseline of a drafter. */
export const questionStandIn: StandIn = {
  sha256: null,
  claimSource: null,
  learntFrom: () => null,
  targets: (question) => Promise.resolve([question]),
  close: () => Promise.resolve(),
};

/** The mean training claim of each of the slots that the drafter fills: its first baseline. It does not own the drafter. */
export function meanClaimStandIn(drafted: StandIn, means: readonly Float32Array[]): StandIn {
  return {
    sha256: null,
    claimSource: null,
    learntFrom: drafted.learntFrom,
    targets: async (question) => means.slice(0, (await drafted.targets(question)).length),
    close: () => Promise.resolve(),
  };
}

/** The mean training claims that a drafter's folder keeps. Throws InputError where the file is damaged. */
export async function storedMeanClaims(folder: string): Promise<Float32Array[]> {
  const tensors = await readSafetensors(await checkedFile(folder, await readManifest(folder, 'drafter'), DRAFTER_WEIGHTS));
  const [slots, dimensions] = tensors.shape(MEAN_CLAIMS) as [number, number];
  const values = tensors.floats(MEAN_CLAIMS);
  return Array.from({ length: slots }, (_, slot) => values.slice(slot * dimensions, (slot + 1) * dimensions));
}
