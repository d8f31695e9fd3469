import type { GateEnd, GateEvent, GateLine, GateLoop, GateSettings } from '../../src/core/gate-log.js';
import type { QuestionRun } from '../../src/evaluate/question-run.js';
import { exampleProfile } from '../runtime/gate/example-profile.js';

/** The header of a gate in shadow, as one would write it. */
export function gateHeader(changes: Partial<GateSettings> = {}, { gate = 'g', label = null as string | null } = {}): GateLine {
  const { encoder, aggregation, policy, claim_source, claim_text, evidence_text } = exampleProfile();
  return {
    event: 'gate',
    kind: 'hopgate gate log',
    format_version: 1,
    product: '0.1.0',
    gate,
    label,
    settings: {
      mode: 'shadow',
      profile_sha256: null,
      tau: 0.4,
      encoder,
      aggregation,
      policy,
      claim_source,
      claim_text,
      drafter_sha256: null,
      evidence_text,
      splitter: 'sbd@1.0.19',
      decider: { name: 'mine', identity: { decider: 'mine' }, reads_claims: false },
      transferred: [],
      bounds: { maxSteps: 6, maxCalls: null, maxTokens: null, maxMillis: null, noProgress: null },
      on_error: 'continue',
      audit: { skips: 0.02, questions: 0.01 },
      seed: 13,
      content: false,
      ...changes,
    },
  };
}

export interface LoggedAs {
  /** The agent goes on after a fire; else the log ends there. Default false. */
  runOn?: boolean | undefined;
  /** Steps that the question may take. Default: as many as it has loops. */
  budget?: number | null | undefined;
  gate?: string | undefined;
  session?: string | undefined;
  /** When and how long the claims were made. */
  claims?: { loop: number; ms: number } | undefined;
  /** Of every loop. */
  loop?: Partial<GateLoop> | undefined;
}

/** What a gate in shadow writes of a question: margins and verdicts loop by loop, 1 s of the host, 200 ms of the decider, 10 ms of the gate. */
export function loggedQuestion(question: QuestionRun, as: LoggedAs = {}): GateEvent[] {
  const { runOn = false, gate = 'g', session = `s${question.row}`, budget = question.margins.length } = as;
  const first = question.fires.indexOf(true);
  const loops = runOn || first < 0 ? question.margins.length : first + 1;
  const covered = !runOn && first >= 0;
  const stopped_by = covered ? ('covered' as const) : ('maxSteps' as const);
  const lines = Array.from({ length: loops }, (_, at): GateLoop => ({
    event: 'loop',
    session,
    loop: at + 1,
    query: null,
    new_sentences: 3,
    sentences: null,
    margin: question.margins[at] as number,
    per_claim: Array.from({ length: question.claims }, () => question.margins[at] as number),
    decision: (question.margins[at] as number) > 0.4 ? 'skip' : 'call',
    asked: true,
    because: 'shadow',
    covered: question.fires[at] as boolean,
    p: null,
    matched: null,
    error: null,
    host_ms: 1000,
    gate_ms: 10,
    decider_ms: 200,
    pairs: null,
    decider_tokens: 0,
    stopped_by: at === loops - 1 ? stopped_by : null,
    ...as.loop,
  }));
  return [
    {
      event: 'open',
      gate,
      session,
      at: 0,
      question_id: question.id,
      question: null,
      mode: 'shadow',
      run_on: runOn,
      budget,
      bounds: { maxSteps: budget, maxCalls: null, maxTokens: null, maxMillis: null, noProgress: null },
      claims: question.claims,
      claim_texts: null,
    },
    ...(as.claims ? [{ event: 'claims' as const, session, k: question.claims, ...as.claims }] : []),
    ...lines,
    endLine(session, { stopped_by, loops, calls: loops }),
  ];
}

export function endLine(session: string, changes: Partial<GateEnd> = {}): GateEnd {
  return {
    event: 'end', session, stopped_by: 'hostFinished', bound: null, loops: 0, calls: 0, skips: 0, audits: 0, errors: 0, tokens: 0, sentences: 0, ms: 0,
    ...changes,
  }; // prettier-ignore
}
