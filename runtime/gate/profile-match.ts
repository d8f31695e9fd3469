import type { ClaimSource, ClaimText } from '../../src/core/claims.js';
import { type EncoderIdentity, type EvidenceText, sameProbe } from '../../src/core/embeddings.js';
import { ProfileMismatchError } from '../../src/core/errors.js';
import { canonicalJson } from '../../src/core/hash.js';
import { DATASET_SENTENCES } from '../../src/core/sentences.js';
import type { Aggregation } from './margin.js';
import type { Profile } from './profile.js';

/** What a profile is about to be used with. Fields that are left out are not compared: a live host may not know its agent or corpus. */
export interface ProfileUse {
  encoder: EncoderIdentity;
  aggregation: Aggregation;
  evidenceText: EvidenceText;
  claimSource: ClaimSource;
  /** Null where drafted slots stand for the claims. */
  claimText: ClaimText | null;
  drafterSha256?: string | null | undefined;
  /** One or several; sentences that came with the data (`dataset`) need none. */
  splitter?: readonly string[] | undefined;
  policy?: Profile['policy'] | undefined;
  decider?: { name: string; identity: unknown } | undefined;
  /** Each has to be among the profile's. */
  agents?: readonly unknown[] | undefined;
  corpora?: readonly unknown[] | undefined;
}

export interface ProfileMatch {
  /** Differences under which the profile is knowingly applied, as words; empty where it is used for what it was made for. */
  transferred: string[];
}

/**
 * Compares a profile with what it is to be used with. A threshold belongs to one encoder, prefix pair, pooling, aggregation and evidence
 * text (method.md §5): those differences are never allowed. Another claim source, decider, policy, agent or corpus is allowed with
 * `transfer`, and named in the result.
 *
 * @throws ProfileMismatchError naming the first field that differs
 */
export function matchProfile(profile: Profile, use: ProfileUse, { transfer = false }: { transfer?: boolean } = {}): ProfileMatch {
  for (const [field, expected, got] of fixedParts(profile, use)) {
    if (same(expected, got) || (field === 'encoder.model_sha256' && sameProbe(String(expected), String(got)))) continue;
    throw new ProfileMismatchError(field, words(expected), words(got), 'a threshold does not carry over: calibrate again');
  }
  const used = (use.splitter ?? []).filter((one) => one !== DATASET_SENTENCES && !profile.splitter.includes(one));
  if (used.length > 0) {
    throw new ProfileMismatchError(
      'splitter',
      words(profile.splitter),
      words(use.splitter),
      'a threshold does not carry over: calibrate again',
    );
  }
  const transferred: string[] = [];
  for (const [field, expected, got] of transferableParts(profile, use)) {
    if (got === undefined || same(expected, got)) continue;
    if (!transfer) throw new ProfileMismatchError(field, words(expected), words(got), '--transfer applies the profile knowingly');
    transferred.push(`${field}: ${words(expected)} → ${words(got)}`);
  }
  return { transferred };
}

type Part = readonly [field: string, expected: unknown, got: unknown];

function fixedParts(profile: Profile, use: ProfileUse): Part[] {
  const encoder = (Object.keys(profile.encoder) as (keyof EncoderIdentity)[]).map((name): Part => [
    `encoder.${name}`,
    profile.encoder[name],
    use.encoder[name],
  ]);
  const parts: Part[] = [
    ...encoder,
    ['aggregation', profile.aggregation, use.aggregation],
    ['evidence_text', profile.evidence_text, use.evidenceText],
  ];
  // Another wording of the same claims is another scale; another claim source brings its own wording with it.
  if (profile.claim_source === use.claimSource && profile.drafter_sha256 === (use.drafterSha256 ?? null)) {
    parts.push(['claim_text', profile.claim_text, use.claimText]);
  }
  return parts;
}

function transferableParts(profile: Profile, use: ProfileUse): Part[] {
  return [
    ['claim_source', profile.claim_source, use.claimSource],
    ['claim_text', profile.claim_text, use.claimText],
    ['drafter_sha256', profile.drafter_sha256, use.drafterSha256],
    ['policy', profile.policy, use.policy],
    ['decider.name', profile.decider.name, use.decider?.name],
    ['decider.identity', profile.decider.identity, use.decider?.identity],
    ['agents', profile.agents, knownOnly(profile.agents, use.agents)],
    ['corpora', profile.corpora, knownOnly(profile.corpora, use.corpora)],
  ];
}

/** The profile's own list where every used one stands in it, else what is used. */
function knownOnly(known: readonly unknown[], used: readonly unknown[] | undefined): readonly unknown[] | undefined {
  return used?.every((one) => known.some((other) => same(one, other))) ? known : used;
}

function same(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

function words(value: unknown): string {
  return canonicalJson(value) ?? 'nothing';
}
