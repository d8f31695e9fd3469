import type { Claim } from '../../src/core/claims.js';
import type { Json } from '../../src/core/manifest.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';
import { type ScanPair, byMargin, claimScan } from './claim-scan.js';
import type { PairScore } from './scan.js';
import { DEFAULT_THRESHOLD, type Policy, type Threshold } from './verdict.js';

/** What a decider may read of one question in a running agent. */
export interface LiveQuestion {
  id: string;
  question: string;
  /** In order; null unless the decider reads claims. Never empty: a question without claims is not covered, and no decider is asked. */
  claims: readonly Claim[] | null;
}

/** One search of the agent, and the sentences that it newly brought. */
export interface LiveLoop {
  /** One-based. */
  loop: number;
  query: string;
  subAnswer: string | null;
  sentences: readonly RetrievedSentence[];
}

export interface LiveVerdict {
  covered: boolean;
  /** Probability of "covered", where the decider has one. */
  p: number | null;
  /** By claim, where it rules claim by claim. */
  matched: readonly boolean[] | null;
  /** Claim–sentence pairs scored by this call; null where none are. */
  pairs: number | null;
  /** Tokens that its language model took, as far as it says. */
  tokens: number;
}

export interface LiveCallOptions {
  signal?: AbortSignal | undefined;
  /** Margin of each claim, where margins and claims are the same ones: the least covered claim is read first (method.md §5). */
  margins?: readonly number[] | undefined;
}

/** One question's state at a decider. Calls come one after another. */
export interface LiveDeciderSession {
  /**
   * Rules on everything found so far. It is given all loops, each time: those since its last verdict are new to it, whether they were skipped or an
   * earlier call failed.
   */
  call(loops: readonly LiveLoop[], options?: LiveCallOptions): Promise<LiveVerdict>;
}

/** A decider inside a running agent: the same verdicts as its `Decider` gives to cached trajectories. Many questions at once. */
export interface LiveDecider {
  readonly name: string;
  /** Everything that moves its verdicts; compared with the profile's. */
  readonly identity: Json;
  readonly readsClaims: boolean;
  /** Which of the claims have to be matched, where it rules claim by claim; the gate's margin has to follow the same policy. */
  readonly policy?: Policy | undefined;
  open(question: LiveQuestion): LiveDeciderSession;
}

export interface LiveClaimsOptions {
  name: string;
  identity: Json;
  /** Scores of claim–sentence pairs of one question, in their order. */
  score: (question: LiveQuestion, pairs: readonly ScanPair[], options: { signal?: AbortSignal | undefined }) => Promise<PairScore[]>;
  threshold?: Threshold | undefined;
  /** See `claimScan`. */
  lookAhead?: number | undefined;
  /** Default `all_match`. Under `any_match` every claim is read: the order of claims has no use. */
  policy?: Policy | undefined;
  /** Read the least covered claim first and end behind the first that stays unmatched. Default false: every claim is read, as in cached verdicts. */
  inMarginOrder?: boolean | undefined;
}

/** A decider that scores claims against sentences, live: a call rules on every candidate a claim was not scored against yet (method.md §4, "Loop"). */
export function liveClaimsDecider(options: LiveClaimsOptions): LiveDecider {
  const { name, identity, score, threshold = DEFAULT_THRESHOLD, lookAhead, policy = 'all_match', inMarginOrder = false } = options;
  return {
    name,
    identity,
    readsClaims: true,
    policy,
    open: (question) => {
      const k = question.claims?.length ?? 0;
      const scan = claimScan(k, { threshold, lookAhead });
      let brought = 0;
      return {
        call: async (loops, { signal, margins } = {}) => {
          for (const { loop, sentences } of loops.slice(brought)) scan.bring(loop, sentences);
          brought = loops.length;
          let pairs = 0;
          const { matched } = await scan.call(
            (asked) => {
              pairs += asked.length;
              return score(question, asked, { signal });
            },
            { signal, claimOrder: inMarginOrder && policy === 'all_match' && margins?.length === k ? byMargin(margins) : undefined },
          );
          const covered = k > 0 && (policy === 'all_match' ? matched.every(Boolean) : matched.some(Boolean));
          return { covered, p: null, matched, pairs, tokens: 0 };
        },
      };
    },
  };
}

export type DeciderAnswer = boolean | { covered: boolean; p?: number | null | undefined; tokens?: number | undefined };

export interface FunctionDeciderOptions {
  /** Default `function`. */
  name?: string | undefined;
  /** What the verdicts depend on, such as a model's name and the prompt's version; a threshold belongs to it. Default: the name alone. */
  identity?: Json | undefined;
  /** Whether it needs claims. Default false. */
  readsClaims?: boolean | undefined;
}

/** A decider of one's own: a function of the question and everything found so far. */
export function functionDecider(
  decide: (input: LiveQuestion & { loops: readonly LiveLoop[]; signal: AbortSignal | undefined }) => DeciderAnswer | Promise<DeciderAnswer>,
  { name = 'function', identity, readsClaims = false }: FunctionDeciderOptions = {},
): LiveDecider {
  return {
    name,
    identity: identity ?? { decider: name },
    readsClaims,
    open: (question) => ({
      call: async (loops, { signal } = {}) => {
        const answer: unknown = await decide({ ...question, loops, signal });
        const {
          covered,
          p = null,
          tokens = 0,
        } = (typeof answer === 'boolean' ? { covered: answer } : (answer ?? {})) as Partial<Exclude<DeciderAnswer, boolean>>;
        if (typeof covered !== 'boolean') throw new TypeError(`decider ${name}: got ${typeof answer}, expected a boolean or { covered }`);
        return { covered, p, matched: null, pairs: null, tokens };
      },
    }),
  };
}
