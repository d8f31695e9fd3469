import { z } from 'zod';
import { BOUNDS, GATE_MODES, STOPPED_BY, gateEnd } from '../../src/core/gate-log.js';
import { ERROR_CODES } from './service-error.js';

/** Characters of a question, a query, a sub-answer or a title at most. */
export const MAX_TEXT = 8_000;
/** Characters of a text of evidence at most; the gate takes a million an observation. */
export const MAX_EVIDENCE_TEXT = 1_000_000;
/** Sentences of one observation at most. */
export const MAX_ITEMS = 2_000;
/** Claims of one question at most. */
export const MAX_CLAIMS = 32;
/** Requests of one batch at most. */
export const MAX_BATCH = 256;

const wellFormed = (text: string): boolean => text.isWellFormed();
const unicode = { message: 'well-formed Unicode' };
const text = z.string().max(MAX_TEXT).refine(wellFormed, unicode);
const evidenceText = z.string().max(MAX_EVIDENCE_TEXT).refine(wellFormed, unicode);
const count = z.int().min(0);
const positive = z.int().min(1);

export const SESSION_ID = /^[\w.-]{1,64}$/;
export const sessionId = z.string().regex(SESSION_ID, '1 to 64 letters, digits, dots, dashes or underscores');

const bounds = z.strictObject({
  maxSteps: positive.nullable().optional(),
  maxCalls: positive.nullable().optional(),
  maxTokens: positive.nullable().optional(),
  maxMillis: z.number().positive().nullable().optional(),
  noProgress: positive.nullable().optional(),
});

export const claimInput = z
  .strictObject({
    expected_claim: text.min(1),
    page: text.optional(),
    expected_target: text.optional(),
    subquestion: text.nullable().optional(),
  })
  .meta({ id: 'Claim' });
const claim = z.union([text.min(1), claimInput]);

export const openRequest = z
  .strictObject({
    question: text.min(1).refine((one) => one.trim() !== '', 'a question, got blanks'),
    session: sessionId.optional().describe('an id of the client’s own; the same request again opens nothing new'),
    question_id: text.min(1).optional().describe('the client’s own id of the question, for the log'),
    claims: z
      .array(claim)
      .max(MAX_CLAIMS)
      .optional()
      .describe('what the evidence has to establish, in place of claims that the service makes'),
    bounds: bounds.optional().describe('hard bounds of this question, closer than the service’s'),
  })
  .meta({ id: 'OpenRequest' });
export type OpenRequest = z.infer<typeof openRequest>;

const place = z.int().min(0).optional();
export const evidenceItem = z
  .strictObject({ title: text.optional(), text: evidenceText, page: place, sentence: place })
  .refine((one) => (one.page === undefined) === (one.sentence === undefined), 'page and sentence together, or neither')
  .meta({ id: 'EvidenceItem' });
/** A text is split into sentences, a list is one. */
export const evidence = z.union([evidenceText, z.array(z.union([evidenceText, evidenceItem])).max(MAX_ITEMS)]).meta({ id: 'Evidence' });

export const observeRequest = z
  .strictObject({
    evidence: evidence.describe('what one search brought: a text, which is split into sentences, or the sentences'),
    query: text.optional(),
    sub_answer: text.optional().describe('the agent’s own answer to the query'),
    tokens: count.max(1_000_000_000).optional().describe('tokens that the agent spent since the last observation'),
    step: positive.optional().describe('number of this search, from 1: the same step again is answered as before and not counted twice'),
  })
  .meta({ id: 'ObserveRequest' });
export type ObserveRequest = z.infer<typeof observeRequest>;

export const verdictRequest = z
  .strictObject({
    covered: z.boolean(),
    p: z.number().min(0).max(1).nullable().optional(),
    step: positive.optional().describe('the loop that is ruled on: the same verdict again is answered as before'),
  })
  .meta({ id: 'VerdictRequest' });
export type VerdictRequest = z.infer<typeof verdictRequest>;

export const stopRequest = z.strictObject({}).meta({ id: 'StopRequest' });

const margins = {
  margin: z.number().nullable().describe('1 − the best cosine of the claim that is covered worst; null without claims'),
  per_claim: z.array(z.number()),
};
const ended = {
  stopped_by: z.enum(STOPPED_BY).nullable().describe('what ended the run; null while it goes on'),
  bound: z.enum(BOUNDS).nullable(),
};

export const observation = z
  .strictObject({
    session: z.string(),
    loop: count,
    action: z.enum(['skip', 'call']),
    ...margins,
    covered: z
      .boolean()
      .nullable()
      .describe(
        'the decider’s word; null where it was not asked, failed, or has not answered yet; false without a call where there are no claims',
      ),
    ...ended,
    new_sentences: count,
    why: z.string(),
    error: z.string().nullable().describe('what failed at this loop: the decider, its claims or the encoder'),
    final_instruction: z.string().nullable().describe('asks the agent’s model for its final answer; null while the run goes on'),
    replayed: z.boolean().describe('this step had been answered before'),
  })
  .meta({ id: 'Observation' });
export type ObservationReply = z.infer<typeof observation>;

/** The first event of a stream, before the decider is done. */
export const marginEvent = z.strictObject({ session: z.string(), loop: count, ...margins }).meta({ id: 'MarginEvent' });
export type MarginEvent = z.infer<typeof marginEvent>;

const { loops, calls, skips, audits, errors, tokens, sentences } = gateEnd.shape;
const tallies = { loops, calls, skips, audits, errors, tokens, sentences };

export const sessionReply = z
  .strictObject({
    session: z.string(),
    question_id: z.string().nullable(),
    mode: z.enum(GATE_MODES),
    claims: count,
    ...ended,
    ...tallies,
    ...margins,
    covered: z.boolean().nullable(),
    awaits_verdict: z.boolean(),
  })
  .meta({ id: 'Session' });
export type SessionReply = z.infer<typeof sessionReply>;

export const endReply = gateEnd.omit({ event: true }).meta({ id: 'SessionEnd' });
export type EndReply = z.infer<typeof endReply>;

export const stopReply = z
  .strictObject({
    message: z.string().nullable().describe('to be given to the agent’s model, which goes on; null: the run has ended'),
    ...ended,
    final_instruction: z.string().nullable(),
  })
  .meta({ id: 'StopReply' });
export type StopReply = z.infer<typeof stopReply>;

const session = { session: sessionId };
export const batchItem = z
  .discriminatedUnion('op', [
    z.strictObject({ op: z.literal('open'), ...openRequest.shape }),
    z.strictObject({ op: z.literal('observe'), ...session, ...observeRequest.shape }),
    z.strictObject({ op: z.literal('verdict'), ...session, ...verdictRequest.shape }),
    z.strictObject({ op: z.literal('stop'), ...session }),
    z.strictObject({ op: z.literal('get'), ...session }),
    z.strictObject({ op: z.literal('close'), ...session }),
  ])
  .meta({ id: 'BatchItem' });
export type BatchItem = z.infer<typeof batchItem>;

/** Items are checked one by one, so that a bad one does not spoil its neighbours; the document says what they are. */
export const batchRequest = z.strictObject({ requests: z.array(z.unknown()).min(1).max(MAX_BATCH) });
export const batchRequestDocument = z.strictObject({ requests: z.array(batchItem).min(1).max(MAX_BATCH) }).meta({ id: 'BatchRequest' });

export const errorReply = z
  .strictObject({
    error: z.strictObject({
      code: z.enum(ERROR_CODES),
      message: z.string(),
      field: z.string().optional(),
      expected: z.string().optional(),
      got: z.string().optional(),
    }),
  })
  .meta({ id: 'Error' });

export const batchReply = z
  .strictObject({
    results: z.array(z.strictObject({ status: z.int(), body: z.union([observation, sessionReply, endReply, stopReply, errorReply]) })),
  })
  .meta({ id: 'BatchReply' });
export type BatchReply = z.infer<typeof batchReply>;

export const healthReply = z.strictObject({ status: z.enum(['ok', 'ready']) }).meta({ id: 'Health' });
