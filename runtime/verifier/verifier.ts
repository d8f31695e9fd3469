import { join } from 'node:path';
import { InputError, ProfileMismatchError } from '../../src/core/errors.js';
import { canonicalJson, sha256 } from '../../src/core/hash.js';
import { LABELS } from '../../src/core/labels.js';
import { type Json, type Manifest, readManifest } from '../../src/core/manifest.js';
import type { OnProgress } from '../../src/core/progress.js';
import type { Variant } from '../../src/core/verifier-export.js';
import type { VerifierFields } from '../../src/core/verifier-fields.js';
import { type VerifierModelDetails, checkVerifierFiles, verifierModelDetails } from '../../src/core/verifier-model.js';
import { type VerifierTokens, openVerifierTokens } from '../../src/prompts/index.js';
import type { LabelScores } from './label-scores.js';
import type { GraphOptions } from '../models/onnx-session.js';
import { type VerifierGraph, openVerifierGraph } from './verifier-model.js';
import { type KeptPrompts, keptPrompts } from './verifier-prompts.js';
import { type TreeScorer, treeScorer } from './verifier-scorer.js';

/** What was read, by name: tokens, passes, requests. */
export interface ReadCounts {
  [name: string]: number;
}

/** Scores pairs of claim and sentence, wherever the model runs. */
export interface PairVerifier {
  /** Everything that moves its scores. */
  readonly identity: Json;
  /** What has to be done once before the first pair. Returns what it read, the same each time; `score` does it where it was left out. */
  prepare(): Promise<ReadCounts>;
  /** Scores in the order of the pairs. */
  score(
    pairs: readonly VerifierFields[],
    options?: { signal?: AbortSignal | undefined; onProgress?: OnProgress | undefined },
  ): Promise<LabelScores[]>;
  /** Forgets what was kept for open questions and claims. */
  release(): void;
  /** Sums since it was opened; `cut_prompts` are those whose evidence sentence was too long and lost its end. */
  counts(): ReadCounts;
  close(): Promise<void>;
}

/** An imported verifier, opened. It owns a native session until it is closed. */
export interface Verifier extends PairVerifier {
  readonly details: VerifierModelDetails;
  readonly variant: Variant;
  readonly provider: VerifierGraph['provider'];
  readonly graph: VerifierGraph;
  readonly tokens: VerifierTokens;
}

export interface VerifierOptions extends GraphOptions {
  /** Default: the model's own. */
  variant?: Variant | undefined;
  /** New tokens of one pass at most. Default 1,024. */
  maxTokens?: number | undefined;
}

/** What a folder of kind `verifier` says of its model, without opening it. Throws InputError where it is none. */
export async function readVerifier(folder: string): Promise<{ manifest: Manifest; details: VerifierModelDetails }> {
  const manifest = await readManifest(folder, 'verifier');
  const parsed = verifierModelDetails.safeParse(manifest.details);
  if (parsed.success) return { manifest, details: parsed.data };
  const issue = parsed.error.issues[0];
  throw new InputError(issue?.message ?? 'invalid', { file: folder, field: ['details', ...(issue?.path ?? [])].join('.') });
}

/**
 * Opens an imported verifier. Throws InputError for a folder that is none, a variant that it lacks, bytes that are not those of its
 * manifest and a graph of another form, and ProfileMismatchError where prompt, template or labels are no longer those of its training.
 */
export async function openVerifier(folder: string, options: VerifierOptions = {}): Promise<Verifier> {
  const { manifest, details } = await readVerifier(folder);
  const variant = options.variant ?? details.default_variant;
  const { file, sha256: modelSha256 } = await variantFile(folder, manifest, { details, variant });
  const tokens = await openTrainedTokens(folder, details);
  const graph = await openVerifierGraph(file, { ...options, architecture: details.architecture });
  const scorer = treeScorer(graph, { labels: tokens.labelIds, maxTokens: options.maxTokens });
  const prompts = keptPrompts(tokens);
  const scoring = pairScoring(scorer, prompts);
  return {
    details,
    variant,
    provider: graph.provider,
    graph,
    tokens,
    identity: verifierIdentity(details, { modelSha256, variant }),
    ...scoring,
    close: () => graph.close(),
  };
}

/** What a verifier's scores belong to; a threshold chosen on one is none for another. */
export function verifierIdentity(
  details: VerifierModelDetails,
  { modelSha256, variant }: { modelSha256: string; variant: Variant },
): { [name: string]: Json } {
  const { base, template_sha256, prompt_sha256, tokenizer_sha256, label_ids, settings } = details;
  return {
    base,
    model_sha256: modelSha256,
    variant,
    template_sha256,
    prompt_sha256,
    tokenizer_sha256,
    label_ids,
    max_length: settings.max_length ?? null,
  };
}

/** The renderer with which a model was trained. Throws ProfileMismatchError where this version renders otherwise. */
export async function openTrainedTokens(folder: string, details: VerifierModelDetails): Promise<VerifierTokens> {
  const { max_length: maxLength } = details.settings;
  if (typeof maxLength !== 'number')
    throw new InputError('got no number, expected the length in tokens', { file: folder, field: 'details.settings.max_length' });
  const tokens = await openVerifierTokens(join(folder, 'tokenizer'), { maxLength });
  const now: { [name: string]: Json } = {
    labels: [...LABELS],
    prompt_sha256: tokens.promptSha256,
    template_sha256: tokens.chat.templateSha256,
    label_ids: Object.fromEntries(LABELS.map((label) => [label, [...tokens.labelIds[label]]])),
  };
  const trained = details as unknown as { [name: string]: Json };
  for (const [name, value] of Object.entries(now)) {
    const [expected, got] = [canonicalJson(trained[name]), canonicalJson(value)];
    if (expected !== got)
      throw new ProfileMismatchError(
        name,
        expected,
        got,
        'a verifier only understands the prompt that it was trained on: train it again with this version',
        'the verifier',
      );
  }
  return tokens;
}

/** Scoring by trees of tokens: the system text is read once, a question and a claim once until they are released. */
export function pairScoring(scorer: TreeScorer, prompts: KeptPrompts): Pick<PairVerifier, 'prepare' | 'score' | 'release' | 'counts'> {
  const hold = once(() => scorer.hold(prompts.system));
  let cut = 0;
  const prepare = async (): Promise<ReadCounts> => {
    await hold();
    return { system_tokens_read: prompts.system.length };
  };
  return {
    prepare,
    score: async (pairs, { signal, onProgress } = {}) => {
      await prepare();
      const scores = Array.from<LabelScores>({ length: pairs.length });
      for (let from = 0; from < pairs.length; from += RENDERED_PAIRS) {
        const part = pairs.slice(from, from + RENDERED_PAIRS).map((pair) => prompts.prompt(pair));
        cut += part.filter((one) => one.cut > 0).length;
        // Prompts that begin alike stand side by side, so that what they share is read once, in whatever order they come.
        const order = [...part.keys()].sort((a, b) =>
          compareIds((part[a] as { ids: readonly number[] }).ids, (part[b] as { ids: readonly number[] }).ids),
        );
        const sorted = await scorer.score(
          order.map((at) => part[at] as (typeof part)[number]),
          { signal, onProgress: (done) => onProgress?.(from + done, pairs.length) },
        );
        for (const [at, place] of order.entries()) scores[from + place] = sorted[at] as LabelScores;
      }
      return scores;
    },
    release: () => scorer.release(),
    counts: () => ({ ...scorer.counts(), cut_prompts: cut }),
  };
}

/** Does `work` once for all callers; what failed is done again by the next one. */
export function once<T>(work: () => Promise<T>): () => Promise<T> {
  let running: Promise<T> | undefined;
  return async () => {
    try {
      return await (running ??= work());
    } catch (error) {
      running = undefined;
      throw error;
    }
  };
}

/** Pairs that are rendered at once. */
const RENDERED_PAIRS = 2048;

function compareIds(a: readonly number[], b: readonly number[]): number {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at++) if (a[at] !== b[at]) return (a[at] as number) - (b[at] as number);
  return a.length - b.length;
}

async function variantFile(
  folder: string,
  manifest: Manifest,
  { details, variant }: { details: VerifierModelDetails; variant: Variant },
): Promise<{ file: string; sha256: string }> {
  const files = details.variants[variant];
  if (!files)
    throw new InputError(`--variant: got ${JSON.stringify(variant)}, expected one of ${Object.keys(details.variants).join(', ')}`, {
      file: folder,
    });
  await checkVerifierFiles(folder, manifest, files);
  const hashes = [files.path, ...files.external].map((name) => manifest.outputs.find((one) => one.name === name)?.sha256 as string);
  return { file: join(folder, files.path), sha256: hashes.length === 1 ? (hashes[0] as string) : sha256(hashes.join(' ')) };
}
