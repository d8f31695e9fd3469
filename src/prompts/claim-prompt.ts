import { CLAIM_ROLES } from '../core/claims.js';
import { canonicalJson, sha256 } from '../core/hash.js';
import type { ChatContents } from './chat-encoder.js';
import { promptLine } from './verifier-prompt.js';

/** New tokens of the one call that a question's claims may take (method.md §2). */
export const CLAIM_TOKENS = 256;

/** The fields that are asked for, each with what it means to the model. The one place: prompt, schema and parser read it here. */
export const CLAIM_FIELDS = {
  target_entity: 'the title of the page to look up',
  expected_target: 'the entity or value that this page should yield',
  role: 'what the page does for the question',
  answer_type: 'the kind of thing that the page yields: person, place, date, number, work, organisation, yes_no or other',
  expected_claim: 'one sentence that says what the evidence has to establish',
} as const;
export type ClaimField = keyof typeof CLAIM_FIELDS;

/** What each role means to the model; the names are those of the claims table. */
export const CLAIM_ROLE_DEFINITIONS: { readonly [role in (typeof CLAIM_ROLES)[number]]: string } = {
  bridge_title: 'leads on to the next page',
  answer_node: 'holds the answer',
  intermediate: 'is needed on the way, and does neither',
};

const TASK =
  'A question is answered by looking up several pages, one after another. Name the entities or facts that have to be found, in the order in which they are needed. ' +
  'Do not answer the question. Write nothing but a JSON list with one object for each, with these fields, all of them strings:';
const TASK_AFTER =
  'Part of the search is done, and what was found is given. Name all entities or facts that the answer rests on, those found already and those still missing.';

const SYSTEM = 'You plan the search for the pages that a question needs. You write JSON and nothing else.';
const CUE = 'JSON list:';

/**
 * System message and user turn that ask for a question's claims: zero-shot, from the question alone. With `evidence` they ask for them again
 * from what was found so far (beyond the papers; off by default). The task stands before the question in the user turn, as the papers have it: behind
 * a system message that holds it, small models answer the question.
 */
export function claimContents(question: string, evidence?: string): ChatContents {
  return {
    system: SYSTEM,
    user: [
      ...(evidence === undefined ? [] : [TASK_AFTER]),
      TASK,
      ...Object.entries(CLAIM_FIELDS).map(([name, meaning]) => `${name}: ${meaning}${name === 'role' ? ` (${roleWords()})` : ''}`),
      '',
      promptLine('Question', question),
      ...(evidence === undefined ? [] : [`Found so far:\n${evidence}`]),
      CUE,
    ].join('\n'),
  };
}

/** sha256 of the system message and the layout of the user turn. */
export function claimPromptSha256(options: { evidence: boolean } = { evidence: false }): string {
  return sha256(canonicalJson(claimContents('{question}', options.evidence ? '{evidence}' : undefined)));
}

function roleWords(): string {
  return CLAIM_ROLES.map((role) => `${role}: ${CLAIM_ROLE_DEFINITIONS[role]}`).join('; ');
}

/**
 * JSON schema for models whose output can be bound to one. The list stands in an object, since several servers take no other root; a reply in
 * this form is read like any other.
 */
export const CLAIM_SCHEMA = {
  type: 'object',
  properties: {
    claims: {
      type: 'array',
      items: {
        type: 'object',
        properties: {
          target_entity: { type: 'string' },
          expected_target: { type: 'string' },
          role: { type: 'string', enum: [...CLAIM_ROLES] },
          answer_type: { type: 'string' },
          expected_claim: { type: 'string' },
        },
        required: Object.keys(CLAIM_FIELDS),
        additionalProperties: false,
      },
    },
  },
  required: ['claims'],
  additionalProperties: false,
};
