import type { Claim, ClaimSource, ClaimText } from '../../src/core/claims.js';
import type { EvidenceText } from '../../src/core/embeddings.js';
import type { GateMode } from '../../src/core/gate-log.js';
import type { Json } from '../../src/core/manifest.js';
import type { LiveDecider } from '../deciders/live.js';
import type { Policy } from '../deciders/verdict.js';
import type { Encoder } from '../encoders/encoder.js';
import type { Drafter } from '../gate/drafter.js';
import type { Aggregation } from '../gate/margin.js';
import type { Profile } from '../gate/profile.js';
import type { GivenBounds } from './bounds.js';
import type { GateLogSink } from './gate-log-file.js';
import type { SharedEncoderOptions } from './shared-encoder.js';

/** A claim as a host gives it: its text, or as much of a hop claim as is known. */
export type ClaimInput = string | ({ [field in GivenField]?: Claim[field] | undefined } & { expected_claim: string });
type GivenField = 'page' | 'expected_target' | 'role' | 'answer_type' | 'subquestion';

export interface ClaimsOption {
  /** Where the claims come from; a threshold belongs to it. */
  source: ClaimSource;
  /** Which of their texts the margin is made of. Default: that of the profile, else that of the source. */
  text?: ClaimText | undefined;
  /**
   * Makes a question's claims. With a drafter it is called at the question's first decider call, and never for a question without one (method.md
   * §7). Left out where every `open` is given its claims.
   */
  make?: ((question: { id: string; question: string; signal: AbortSignal | undefined }) => Promise<readonly ClaimInput[]>) | undefined;
}

/** The host calls its own decider when an observation says `call`, and hands in the verdict. */
export interface HostDecider {
  host: true;
  /** Default `host`. */
  name?: string | undefined;
  /** What its verdicts depend on; compared with the profile's where it is given. */
  identity?: Json | undefined;
}

/** What becomes of a decider, claims maker or encoder that fails or takes too long. */
export const ON_ERROR = ['continue', 'stop', 'throw'] as const;
export type OnError = (typeof ON_ERROR)[number];

export interface GateOptions {
  /** Shared by all sessions; stays its owner's. A `sharedEncoder` may serve the decider's small verifier too. */
  encoder: Encoder;
  sharedEncoder?: SharedEncoderOptions | undefined;
  /** Its slots make the margin in place of claims. Stays its owner's. */
  drafter?: Drafter | undefined;
  claims?: ClaimsOption | undefined;
  /** The calibrated threshold. Needed to enforce; without one a shadow gate only measures. */
  profile?: Profile | undefined;
  /** Apply the profile although decider, claim source or splitter differ; the differences stand in the log. Default false. */
  transfer?: boolean | undefined;
  /** Without a profile. Defaults `max`, `title+sentence`, `all_match`. */
  aggregation?: Aggregation | undefined;
  evidenceText?: EvidenceText | undefined;
  policy?: Policy | undefined;
  /** `host` for `{ host: true }`. */
  decider: LiveDecider | HostDecider | 'host';
  /** `shadow`: always called, only watched. `enforce`: the gate's skips are not called. */
  mode: GateMode;
  bounds?: GivenBounds | undefined;
  /** Default `continue`: the loop counts as not covered, the run goes on, the failure is counted. */
  onError?: OnError | undefined;
  /** Milliseconds that a decider call, making claims, or encoding may take. Default 60,000. */
  deciderTimeout?: number | undefined;
  /**
   * Under `enforce`: share of skips that are called all the same (default 0.02), and of questions that stay in shadow (default 0.01). Both are
   * drawn without regard to the data.
   */
  audit?: { skips?: number | undefined; questions?: number | undefined } | undefined;
  /**
   * The test whether live questions are still like the profile's, by the margin after the first search. Runs by default where the profile keeps
   * those margins; false: not at all.
   */
  drift?: DriftWatch | false | undefined;
  /** Override an agent that ends by itself before coverage or a bound: true for the built-in message, or a message. Default false. */
  forceContinue?: boolean | string | undefined;
  log?: GateLogSink | undefined;
  /** Whether the log holds questions, queries and sentences. Default false. */
  content?: boolean | undefined;
  /** What this traffic is called, in place of a dataset's name. */
  label?: string | undefined;
  /** Of the audit's draws, together with the sessions' ids. Default 13. */
  seed?: number | undefined;
  /** Milliseconds since 1970. Default: a clock that is never set back. */
  clock?: (() => number) | undefined;
}

export interface DriftWatch {
  /** Probability that this gate ever raises an alarm without drift. A process that is started anew begins anew; the report tests the whole log. Default 0.01. */
  alpha?: number | undefined;
  /** The profile's dataset that the traffic is like. Default: all that τ was chosen on, together. */
  dataset?: string | undefined;
  /** After an alarm every skip is called all the same. Default false: the alarm is logged, and told to `onAlarm`. */
  fallBack?: boolean | undefined;
  onAlarm?: ((alarm: { questions: number; capital: number }) => void) | undefined;
}

export interface OpenOptions {
  /** Default: a random UUID. The audit's draws follow from it. */
  id?: string | undefined;
  /** The host's own id of the question, for the log. */
  questionId?: string | undefined;
  /** This question's bounds, over the gate's. */
  bounds?: GivenBounds | undefined;
  /** This question's claims, in place of the gate's maker. */
  claims?: readonly ClaimInput[] | undefined;
  /** The host goes on to the end of its budget whatever the decider says, so that a shadow log has every loop. Shadow only. Default false. */
  runOn?: boolean | undefined;
  signal?: AbortSignal | undefined;
}
