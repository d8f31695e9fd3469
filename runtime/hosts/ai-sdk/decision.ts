import type { Claim } from '../../../src/core/claims.js';
import { InputError } from '../../../src/core/errors.js';
import type { Json } from '../../../src/core/manifest.js';
import type { RetrievedSentence } from '../../../src/core/trajectories.js';
import { type LiveDecider, functionDecider } from '../../deciders/live.js';
import { hopClaims } from '../../session/claims.js';
import { evidenceStore } from '../../session/evidence.js';
import type { ClaimInput } from '../../session/gate-options.js';

/** ai 7's decision model (`Experimental_DecisionModelV4`), as far as it is used here. */
export interface DecisionModel {
  readonly specificationVersion: 'v4';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedQuestionTypes: 'boolean'[];
  doDecide(
    options: DecisionCall,
  ): Promise<{ answers: { [id: string]: { type: 'boolean'; probability: number } }; usage?: Usage; warnings: [] }>;
}
interface DecisionCall {
  state: readonly { type: string }[];
  questions: { readonly [id: string]: { readonly type: string } };
  abortSignal?: AbortSignal;
}
interface Usage {
  inputTokens?: number;
  outputTokens?: number;
}

/** What a verifier reads of a claim. */
type DecisionClaim = Pick<Claim, 'expected_claim' | 'page' | 'expected_target' | 'role' | 'answer_type'>;

/** ai 7's `experimental_decide`, as far as it is used here. */
export type DecideFunction<M> = (options: {
  model: M;
  state: { question: string; claims: DecisionClaim[]; evidence: { title: string; text: string }[] };
  questions: { covered: { type: 'boolean'; instructions: string; criteria: { true: string; false: string } } };
  abortSignal?: AbortSignal;
}) => PromiseLike<{
  answers: { covered: { type: 'boolean'; probability: number } };
  usage: { inputTokens: number | undefined; outputTokens: number | undefined };
}>;

const INSTRUCTIONS = 'Does the evidence establish everything that is needed to answer the question?';
const CRITERIA = {
  true: 'Every claim, or every part of the question where there are no claims, is established by at least one sentence of the evidence.',
  false: 'At least one claim, or one part of the question, is not established by any sentence of the evidence.',
};

/**
 * Any decision model of ai 7 as the gate's decider: one boolean question over the question, its claims and the evidence found so far.
 *
 * @param decide ai 7's `experimental_decide`
 */
export function decisionDecider<M>(
  decide: DecideFunction<M>,
  options: {
    model: M;
    /** What the verdicts depend on, such as the model's name; a threshold belongs to it. */
    identity: Json;
    /** Covered from this probability on. Default 0.5. */
    threshold?: number | undefined;
    /** Default true. */
    readsClaims?: boolean | undefined;
  },
): LiveDecider {
  const { model, identity, threshold = 0.5, readsClaims = true } = options;
  return functionDecider(
    async ({ question, claims, loops, signal }) => {
      const evidence = loops.flatMap(({ sentences }) => sentences.map(({ title, text }) => ({ title, text })));
      const { answers, usage } = await decide({
        model,
        state: { question, claims: (claims ?? []).map(decisionClaim), evidence },
        questions: { covered: { type: 'boolean', instructions: INSTRUCTIONS, criteria: CRITERIA } },
        ...(signal && { abortSignal: signal }),
      });
      const p = answers.covered.probability;
      return { covered: p >= threshold, p, tokens: (usage.inputTokens ?? 0) + (usage.outputTokens ?? 0) };
    },
    { name: 'decision', identity: { decider: 'decision', model: identity, threshold, reads_claims: readsClaims }, readsClaims },
  );
}

/**
 * A decider of ours, such as the trained verifier, as a decision model of ai 7, for `experimental_decide` and its registries and telemetry. Its state
 * is one JSON part `{ question, claims?, evidence: { title?, text }[] }`, its claims as a session is given them; it answers the boolean questions `covered` and, where the
 * decider rules claim by claim, `claim_1` to `claim_n`. A verdict without a probability is 0 or 1.
 *
 * Throws InputError for another state or question.
 */
export function verifierModel(decider: LiveDecider): DecisionModel {
  return {
    specificationVersion: 'v4',
    provider: 'hopgate',
    modelId: decider.name,
    supportedQuestionTypes: ['boolean'],
    doDecide: async ({ state, questions, abortSignal }) => {
      const { question, claims, evidence } = stateOf(state);
      if (decider.readsClaims && claims.length === 0)
        throw new InputError(`state.claims: got none, expected at least one: ${decider.name} reads claims`);
      const session = decider.open({
        id: 'decision',
        question,
        claims: decider.readsClaims ? hopClaims(claims, { id: 'decision', question, source: 'generated' }) : null,
      });
      const verdict = await session.call([{ loop: 1, query: question, subAnswer: null, sentences: evidence }], { signal: abortSignal });
      const answers = Object.keys(questions).map((id) => {
        const claim = /^claim_([1-9]\d*)$/.exec(id)?.[1];
        const matched = claim === undefined ? undefined : verdict.matched?.[Number(claim) - 1];
        if (id !== 'covered' && matched === undefined)
          throw new InputError(
            `questions: got ${JSON.stringify(id)}, expected covered${verdict.matched ? ` or claim_1 to claim_${verdict.matched.length}` : ''}`,
          );
        const probability = id === 'covered' ? (verdict.p ?? Number(verdict.covered)) : Number(matched);
        return [id, { type: 'boolean' as const, probability }] as const;
      });
      return { answers: Object.fromEntries(answers), usage: { inputTokens: verdict.tokens, outputTokens: 0 }, warnings: [] };
    },
  };
}

function decisionClaim({ expected_claim, page, expected_target, role, answer_type }: Claim): DecisionClaim {
  return { expected_claim, page, expected_target, role, answer_type };
}

function stateOf(parts: DecisionCall['state']): { question: string; claims: ClaimInput[]; evidence: RetrievedSentence[] } {
  const [part] = parts as readonly { type: string; value?: unknown }[];
  const value = (parts.length === 1 && part?.type === 'json' ? part.value : {}) as { [field: string]: unknown };
  const { question, claims = [], evidence } = value;
  if (typeof question !== 'string' || !Array.isArray(claims) || !Array.isArray(evidence))
    throw new InputError('state: expected one object { question, claims?, evidence: { title?, text }[] }');
  return { question, claims, evidence: evidenceStore(() => undefined).add(evidence) };
}
