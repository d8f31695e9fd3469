import { randomUUID } from 'node:crypto';
import { CLAIM_SOURCES, type Claim, type ClaimSource, type ClaimText, claimText, defaultClaimText } from '../../src/core/claims.js';
import { InputError, ProfileMismatchError, shown } from '../../src/core/errors.js';
import { GATE_MODES, type GateEvent, type GateLine, type GateMode, type GateSettings } from '../../src/core/gate-log.js';
import { canonicalJson, sha256 } from '../../src/core/hash.js';
import { product } from '../../src/core/product.js';
import { random } from '../../src/core/random.js';
import { SPLITTER } from '../../src/core/sentences.js';
import type { DriftState } from '../gate/drift.js';
import { createMargin } from '../gate/margin.js';
import { matchProfile } from '../gate/profile-match.js';
import { type Profile, profileText } from '../gate/profile.js';
import { type Bounds, type WorstCase, boundsOf, worstCase } from './bounds.js';
import { hopClaims } from './claims.js';
import { monotonic } from './clock.js';
import { driftWatch } from './drift-watch.js';
import { evidenceStore } from './evidence.js';
import { GateDeciderError } from './gate-errors.js';
import { toldSafely } from './listeners.js';
import { type GateOptions, type HostDecider, ON_ERROR, type OpenOptions } from './gate-options.js';
import { CONTINUE_MESSAGE } from './final-instruction.js';
import { type SessionGate, type SessionStart, openSession } from './open-session.js';
import type { GateSession } from './session.js';
import { type SharedEncoder, sharedEncoder } from './shared-encoder.js';
import { timeLimit } from './time-limit.js';

/** A gate in a running agent: what all questions share. It owns nothing but its log lines; encoder, drafter and decider stay their owners'. */
export interface Gate {
  /** Names it in the log. */
  readonly id: string;
  readonly settings: GateSettings;
  readonly encoder: SharedEncoder;
  /** Where the test of drift stands; null where there is none. */
  readonly drift: Pick<DriftState, 'questions' | 'alarmAt' | 'logCapital' | 'alpha'> | null;
  /** Opens one question. Throws InputError for a bad question or options; fails with GateDeciderError where claims or encoder do and `onError` is `throw`. */
  open(question: string, options?: OpenOptions): Promise<GateSession>;
  /** The most that one question may cost (known fault P92); null where steps are not bounded. */
  worstCase(of: { claims: number; sentences: number }): WorstCase | null;
}

/** What the margin and the decider of one question need. */
interface Prepared {
  targets: readonly Float32Array[];
  texts: string[] | null;
  claims: SessionStart['claims'];
  ordered: boolean;
  /** What making the claims took; null where they were not made yet. */
  ms: number | null;
}

/**
 * Joins encoder, claims or drafter, profile and decider to a gate (CoVeR; method.md §5). Throws InputError for options that contradict each other, and
 * ProfileMismatchError where the profile was made for something else.
 */
export function createGate(options: GateOptions): Gate {
  const decider: SessionGate['decider'] = options.decider === 'host' ? { host: true } : options.decider;
  const {
    profile,
    drafter,
    claims,
    mode,
    transfer = false,
    seed = 13,
    content = false,
    clock = monotonic,
    onError = 'continue',
    deciderTimeout = 60_000,
  } = options;
  checkOptions(options, decider);
  const bounds = boundsOf(options.bounds);
  const aggregation = profile?.aggregation ?? options.aggregation ?? 'max';
  const evidenceText = profile?.evidence_text ?? options.evidenceText ?? 'title+sentence';
  const policy = profile?.policy ?? options.policy ?? 'all_match';
  if (!isHost(decider) && decider.policy !== undefined && decider.policy !== policy)
    throw new InputError(
      `the decider ${decider.name} rules by ${decider.policy}, the gate's margin by ${policy}: expected one policy for both`,
    );
  const claimSource = sourceOf(options);
  const text = drafter ? null : (claims?.text ?? profile?.claim_text ?? defaultClaimText(claimSource));
  const transferred = profile ? [...profile.transferred, ...matched(profile, options, decider, { claimSource, text })] : [];
  const splits = !profile || profile.splitter.includes(SPLITTER);
  if (profile && !splits && transfer) transferred.push(`splitter: ${canonicalJson(profile.splitter)} → ${canonicalJson(SPLITTER)}`);
  const audit = {
    skips: shareOf('audit.skips', options.audit?.skips ?? 0.02),
    questions: shareOf('audit.questions', options.audit?.questions ?? 0.01),
  };
  const settings: GateSettings = {
    mode,
    profile_sha256: profile ? sha256(profileText(profile)) : null,
    tau: profile?.tau ?? null,
    encoder: options.encoder.identity,
    aggregation,
    policy,
    claim_source: claimSource,
    claim_text: text,
    drafter_sha256: drafter?.sha256 ?? null,
    evidence_text: evidenceText,
    splitter: SPLITTER,
    decider: deciderSettings(decider),
    transferred,
    bounds,
    on_error: onError,
    audit,
    seed,
    content,
  };
  const label = options.label ?? null;
  const header: GateLine = {
    event: 'gate',
    kind: 'hopgate gate log',
    format_version: 1,
    product: product().version,
    gate: sha256(canonicalJson({ label, settings })).slice(0, 16),
    label,
    settings,
  };
  /** Ids that hosts gave to sessions which have not ended: two at once could not be told apart in the log. */
  const taken = new Set<string>();
  const log = (event: GateEvent): void => {
    if (event.event === 'end') taken.delete(event.session);
    toldSafely(() => options.log?.write(event));
  };
  log(header);
  const encoder = sharedEncoder(options.encoder, options.sharedEncoder);
  const watch = driftWatch(options, { gate: header.gate, log, clock, seed });
  const sessionGate: SessionGate = {
    tau: settings.tau,
    decider,
    encoder,
    evidenceText,
    onError,
    deciderTimeout,
    auditedSkips: audit.skips,
    continueMessage: continueMessage(options.forceContinue),
    content,
    seed,
    clock,
    observeFirst: (margin) => watch?.observe(margin),
    callsAlways: () => watch?.callsAlways() ?? false,
    log,
  };
  const readsClaims = !isHost(decider) && decider.readsClaims;
  const checkSplitter = (): void => {
    if (splits || transfer) return;
    throw new ProfileMismatchError(
      'splitter',
      canonicalJson(profile.splitter),
      canonicalJson(SPLITTER),
      'hand in sentences instead of text, or calibrate on text; `transfer` applies the profile knowingly',
    );
  };

  /** The vectors that stand for the question's claims in the margin, and the decider's claims. */
  const prepared = async (
    question: string,
    made: (stop: AbortSignal | undefined) => Promise<Claim[]>,
    signal: AbortSignal | undefined,
  ): Promise<Prepared> => {
    if (drafter) {
      const [vector] = await encoder.encode([question], 'query', { signal });
      const { slots } = await drafter.draft(vector as Float32Array);
      return { targets: slots, texts: null, claims: readsClaims ? made : null, ordered: false, ms: null };
    }
    const since = clock();
    const own = await made(signal);
    const ms = Math.max(0, clock() - since);
    const texts = own.map((claim) => claimText(claim, text as ClaimText));
    const targets = texts.length === 0 ? [] : await encoder.encode(texts, 'query', { signal });
    return { targets, texts, claims: readsClaims || isHost(decider) || own.length === 0 ? own : null, ordered: true, ms };
  };

  return {
    id: header.gate,
    settings,
    encoder,
    get drift() {
      return watch?.state() ?? null;
    },
    worstCase: (of) => worstCase(bounds, of),
    open: async (question, { id: ownId, questionId, bounds: own, claims: given, runOn = false, signal } = {}) => {
      const id = ownId ?? randomUUID();
      if (typeof question !== 'string' || question.trim() === '')
        throw new InputError(`question: got ${JSON.stringify(question)}, expected a text that is not empty`);
      const sessionBounds: Bounds = boundsOf(own, bounds);
      const inShadow = mode === 'shadow' || random(seed, 'shadow question', id).float() < audit.questions;
      const questionMode: GateMode = inShadow ? 'shadow' : 'enforce';
      if (runOn && mode !== 'shadow') throw new InputError('runOn: only a gate in shadow may watch an agent that goes on after a fire');
      if (given !== undefined && !claims)
        throw new InputError("the gate has no claim source; say `claims: { source: '…' }` when it is created", { field: 'claims' });
      signal?.throwIfAborted();
      if (taken.has(id)) throw new InputError(`session ${id}: is open already, expected an id of its own`, { field: 'id' });
      if (ownId !== undefined) taken.add(id);
      const made = async (stop: AbortSignal | undefined): Promise<Claim[]> =>
        hopClaims(given ?? (await claims?.make?.({ id, question, signal: stop })) ?? [], { id, question, source: claimSource });
      let parts: Prepared;
      let failed: GateDeciderError | null = null;
      try {
        const limit = timeLimit(deciderTimeout, signal);
        parts = await limit.race(prepared(question, made, limit.signal)).finally(() => limit.clear());
      } catch (error) {
        if (signal?.aborted || onError === 'throw' || (error instanceof InputError && given !== undefined)) taken.delete(id);
        signal?.throwIfAborted();
        // Claims that this call gave are its own mistake; a maker's are a failure like any other.
        if (error instanceof InputError && given !== undefined) throw error;
        failed = new GateDeciderError(drafter ? 'encoder' : 'claims', id, error);
        if (onError === 'throw') throw failed;
        // Without a margin the gate cannot speak, so every loop of this question is called; the first call tries to make its claims again.
        parts = { targets: [], texts: null, claims: readsClaims ? made : null, ordered: false, ms: null };
      }
      log({
        event: 'open',
        gate: header.gate,
        session: id,
        at: clock(),
        question_id: questionId ?? null,
        question: content ? question : null,
        mode: questionMode,
        run_on: runOn,
        budget: sessionBounds.maxSteps,
        bounds: sessionBounds,
        claims: parts.targets.length,
        claim_texts: content ? parts.texts : null,
      });
      if (parts.ms !== null) log({ event: 'claims', session: id, loop: 0, k: parts.targets.length, ms: parts.ms });
      return openSession(sessionGate, {
        id,
        question,
        mode: questionMode,
        runOn,
        bounds: sessionBounds,
        margin: createMargin({ targets: parts.targets, aggregation, over: policy === 'all_match' ? 'all' : 'any' }),
        store: evidenceStore(checkSplitter),
        claims: parts.claims,
        ordered: parts.ordered,
        failed,
      });
    },
  };
}

function checkOptions(options: GateOptions, decider: SessionGate['decider']): void {
  const { mode, profile, drafter, claims, audit, onError, deciderTimeout, seed, forceContinue } = options;
  if (onError !== undefined && !ON_ERROR.includes(onError))
    throw new InputError(`onError: got ${shown(onError)}, expected ${ON_ERROR.join(', ')}`);
  if (deciderTimeout !== undefined && !(typeof deciderTimeout === 'number' && deciderTimeout > 0))
    throw new InputError(`deciderTimeout: got ${String(deciderTimeout)}, expected a positive number of milliseconds`);
  if (seed !== undefined && !Number.isSafeInteger(seed)) throw new InputError(`seed: got ${shown(seed)}, expected a whole number`);
  if (typeof forceContinue === 'string' && forceContinue.trim() === '')
    throw new InputError('forceContinue: got an empty message, expected true, false or a text');
  if (!GATE_MODES.includes(mode)) throw new InputError(`mode: got ${JSON.stringify(mode)}, expected ${GATE_MODES.join(' or ')}`);
  if (!drafter && !claims) throw new InputError('expected a drafter, or claims, that the margin is made of');
  if (!isHost(decider) && decider.readsClaims && !claims) throw new InputError(`the decider ${decider.name} reads claims: expected claims`);
  const beside = profile && (['aggregation', 'evidenceText', 'policy'] as const).find((name) => options[name] !== undefined);
  if (beside) throw new InputError(`${beside}: is the profile's to say, expected it without a profile alone`);
  if (mode === 'enforce' && !profile)
    throw new InputError('mode enforce: expected a profile; run in shadow first, and calibrate from its log');
  if (mode === 'enforce' && profile?.extent === 'never calls')
    throw new InputError('mode enforce: the profile never calls the decider, so nothing would ever stop the agent; calibrate again');
  if (mode === 'shadow' && audit !== undefined) throw new InputError('audit: only an enforcing gate has skips to audit');
}

function sourceOf({ drafter, claims }: GateOptions): ClaimSource {
  const learnt = drafter && CLAIM_SOURCES.find((one) => one === drafter.details.claim_source);
  const source = learnt ?? claims?.source;
  if (source === undefined) throw new InputError('the drafter does not say which claims it learnt from: expected claims.source');
  if (!CLAIM_SOURCES.includes(source))
    throw new InputError(`claims.source: got ${JSON.stringify(source)}, expected ${CLAIM_SOURCES.join(', ')}`);
  return source;
}

/** The profile's verdicts stand under a name of the user's, so only what they are made of is compared. */
function matched(
  profile: Profile,
  { encoder, drafter, transfer }: GateOptions,
  decider: SessionGate['decider'],
  { claimSource, text }: { claimSource: ClaimSource; text: ClaimText | null },
): string[] {
  const { identity } = decider;
  return matchProfile(
    profile,
    {
      encoder: encoder.identity,
      aggregation: profile.aggregation,
      evidenceText: profile.evidence_text,
      claimSource,
      claimText: text,
      drafterSha256: drafter?.sha256 ?? null,
      ...(identity !== undefined && { decider: { name: profile.decider.name, identity } }),
    },
    { transfer: transfer ?? false },
  ).transferred;
}

function deciderSettings(decider: SessionGate['decider']): GateSettings['decider'] {
  if (!isHost(decider)) return { name: decider.name, identity: decider.identity, reads_claims: decider.readsClaims };
  const { name = 'host', identity } = decider;
  return { name, identity: identity ?? { decider: name }, reads_claims: false };
}

function isHost(decider: SessionGate['decider']): decider is HostDecider {
  return 'host' in decider;
}

function continueMessage(asked: boolean | string | undefined): string | null {
  if (asked === undefined || asked === false) return null;
  return asked === true ? CONTINUE_MESSAGE : asked;
}

function shareOf(name: string, value: number): number {
  if (!(value >= 0 && value <= 1)) throw new InputError(`${name}: got ${JSON.stringify(value)}, expected a share in [0, 1]`);
  return value;
}
