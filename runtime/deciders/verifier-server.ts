import { InputError } from '../../src/core/errors.js';
import { LABELS } from '../../src/core/labels.js';
import type { VerifierFields } from '../../src/core/verifier-fields.js';
import { type GoldenScores, readGoldenScores } from '../../src/core/verifier-export.js';
import { type CompletionsOptions, completionsClient } from '../verifier/completions-client.js';
import { type LabelScores, labelOf } from '../verifier/label-scores.js';
import { type PairVerifier, once, openTrainedTokens, readVerifier, verifierIdentity } from '../verifier/verifier.js';
import type { LabelTokens } from '../verifier/verifier-scorer.js';

export interface ServerVerifierOptions extends CompletionsOptions {
  /** Largest |Δ log-probability| on the golden rows that is let through: servers run in 16 bits. Default 0.1. */
  tolerance?: number | undefined;
  /** Prompts a request. Default 16. */
  batch?: number | undefined;
  /** Requests in flight. Default 4. */
  concurrency?: number | undefined;
}

const TOLERANCE = 0.1;
/** Labels that may differ on the golden rows, as the import lets pass for 16 bits. */
const FLIP_SHARE = 1 / 16;

/**
 * An imported verifier whose model is served elsewhere by vLLM or SGLang: prompts are rendered here, token ids go out, and log-probabilities
 * come back. Before the first pair the golden rows of the import are scored, and a server that gives other numbers is refused: another
 * model, another adapter or none would answer as readily.
 *
 * @param folder the imported model, for its tokenizer, labels and golden rows
 */
export async function openServerVerifier(folder: string, options: ServerVerifierOptions): Promise<PairVerifier> {
  const { details } = await readVerifier(folder);
  const tokens = await openTrainedTokens(folder, details);
  const golden = await readGoldenScores(folder, LABELS);
  const score = serverScores(tokens.labelIds, options);
  const check = once(() => checkGolden(golden, score.of, { ...options, folder }));
  const sums = { pairs: 0, cut_prompts: 0 };
  const prepare = async (): Promise<{ golden_rows: number; golden_flips: number }> => ({
    golden_rows: golden.length,
    golden_flips: await check(),
  });
  return {
    identity: {
      ...verifierIdentity(details, { modelSha256: details.base_sha256, variant: details.default_variant }),
      // What the server runs is known by its answers to the golden rows alone.
      model_sha256: null,
      variant: null,
      served_as: options.model,
    },
    prepare,
    score: async (pairs: readonly VerifierFields[], { signal, onProgress } = {}) => {
      await prepare();
      const prompts = pairs.map((pair) => tokens.prompt(pair));
      const scores = await score.of(
        prompts.map(({ ids }) => ids),
        { signal, onProgress },
      );
      sums.pairs += pairs.length;
      sums.cut_prompts += prompts.filter(({ cut }) => cut > 0).length;
      return scores;
    },
    release: () => undefined,
    counts: () => ({ ...sums, tokens_sent: score.sent() }),
    close: async () => undefined,
  };
}

type Scoring = (
  prompts: readonly (readonly number[])[],
  options?: { signal?: AbortSignal | undefined; onProgress?: ((done: number, total: number) => void) | undefined },
) => Promise<LabelScores[]>;

/** Scores prompts in batches, several requests in flight, in their order; `sent` is the sum of the prompts' tokens over all requests. */
export function serverScores(labels: LabelTokens, options: ServerVerifierOptions): { of: Scoring; sent: () => number } {
  const { batch = 16, concurrency = 4 } = options;
  const client = completionsClient(options);
  const lists = LABELS.map((label) => labels[label]);
  let sent = 0;
  const counted = (prompts: readonly (readonly number[])[]): readonly (readonly number[])[] => {
    sent += prompts.reduce((sum, ids) => sum + ids.length, 0);
    return prompts;
  };

  /** Where every label is one token, the next token's probabilities are enough, and the server's prefix cache serves them. */
  const fromNextToken = async (
    prompts: readonly (readonly number[])[],
    signal: AbortSignal | undefined,
  ): Promise<(number[] | undefined)[]> => {
    if (lists.some((ids) => ids.length > 1)) return prompts.map(() => undefined);
    const next = await client.nextTokens(counted(prompts), { signal });
    return next.map((found) => {
      const scores = LABELS.map((label, at) => found.get(`token_id:${(lists[at] as readonly number[])[0]}`) ?? found.get(label));
      return scores.every((one) => one !== undefined) ? scores : undefined;
    });
  };
  /** One prompt for each label, its tokens behind the prompt's. */
  const fromPrompts = async (prompts: readonly (readonly number[])[], signal: AbortSignal | undefined): Promise<number[][]> => {
    const whole = prompts.flatMap((ids) => lists.map((label) => [...ids, ...label]));
    const logprobs = await client.promptTokens(counted(whole), { signal });
    return prompts.map((ids, at) =>
      lists.map((label, which) => {
        const own = (logprobs[at * lists.length + which] as (number | null)[]).slice(ids.length);
        return own.reduce<number>((sum, one) => sum + (one ?? NaN), 0) / label.length;
      }),
    );
  };
  const scoreBatch = async (prompts: readonly (readonly number[])[], signal: AbortSignal | undefined): Promise<LabelScores[]> => {
    const quick = await fromNextToken(prompts, signal);
    const left = [...prompts.keys()].filter((at) => quick[at] === undefined);
    const slow =
      left.length === 0
        ? []
        : await fromPrompts(
            left.map((at) => prompts[at] as readonly number[]),
            signal,
          );
    for (const [at, place] of left.entries()) quick[place] = slow[at];
    return quick.map((scores) => {
      const [lp_match = NaN, lp_partial = NaN, lp_null = NaN] = scores ?? [];
      if (Number.isNaN(lp_match + lp_partial + lp_null)) throw new InputError(`${options.url}: got no log-probability of a label`);
      return { lp_match, lp_partial, lp_null };
    });
  };

  return {
    sent: () => sent,
    of: async (prompts, { signal, onProgress } = {}) => {
      const scores = Array.from<LabelScores>({ length: prompts.length });
      let [next, done] = [0, 0];
      const failed = new AbortController();
      const stop = signal ? AbortSignal.any([signal, failed.signal]) : failed.signal;
      const work = async (): Promise<void> => {
        while (next < prompts.length) {
          stop.throwIfAborted();
          const from = next;
          const part = prompts.slice(from, (next += batch));
          for (const [at, one] of (await scoreBatch(part, stop)).entries()) scores[from + at] = one;
          done += part.length;
          onProgress?.(done, prompts.length);
        }
      };
      try {
        await Promise.all(
          Array.from({ length: Math.min(concurrency, Math.ceil(prompts.length / batch)) }, () =>
            work().catch((error: unknown) => {
              failed.abort(error);
              throw error;
            }),
          ),
        );
      } catch (error) {
        signal?.throwIfAborted();
        throw error;
      }
      return scores;
    },
  };
}

/** Returns how many golden rows get another label there: few, with scores within the tolerance of each other. Throws InputError else. */
async function checkGolden(
  golden: readonly GoldenScores[],
  score: Scoring,
  { folder, url, model, tolerance = TOLERANCE }: ServerVerifierOptions & { folder: string },
): Promise<number> {
  if (golden.length === 0) throw new InputError('no golden rows, so a server cannot be checked', { file: folder });
  const scores = await score(golden.map(({ prompt_ids }) => prompt_ids));
  let worst = { difference: -1, row: '' };
  let flips = 0;
  for (const [at, { row, merged }] of golden.entries()) {
    const { lp_match, lp_partial, lp_null } = scores[at] as LabelScores;
    const difference = Math.max(...[lp_match, lp_partial, lp_null].map((one, label) => Math.abs(one - (merged[label] as number))));
    if (difference > worst.difference) worst = { difference, row };
    const [m = NaN, p = NaN, n = NaN] = merged;
    if (labelOf({ lp_match: m, lp_partial: p, lp_null: n }) !== labelOf(scores[at] as LabelScores)) flips++;
  }
  if (worst.difference <= tolerance && flips <= golden.length * FLIP_SHARE) return flips;
  throw new InputError(
    `${url}: ${model} is not this verifier: the largest difference of a log-probability on the ${golden.length} golden rows is ` +
      `${worst.difference.toPrecision(3)} (row ${worst.row}), expected at most ${tolerance}; ${flips} labels differ, expected at most ${Math.floor(golden.length * FLIP_SHARE)}`,
  );
}
