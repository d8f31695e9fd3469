import { canonicalJson, sha256 } from '../core/hash.js';
import { LABELS, type Label } from '../core/labels.js';
import type { VerifierFields } from '../core/verifier-fields.js';

/** What each label means to the model. The one place where it is written: the prompt, the model card and the tests read it here. */
export const LABEL_DEFINITIONS: { readonly [label in Label]: string } = {
  match: 'on the expected page, and states the claim',
  partial: 'on the expected page, but does not state the claim',
  null: 'on another page, and does not help with the claim',
};

/** The eight lines of the user turn, in the order of method.md §4: the name that is written, and the field that follows it. */
export const VERIFIER_LINES: readonly (readonly [name: string, field: keyof VerifierFields])[] = [
  ['Question', 'question'],
  ['Answer candidate', 'answer_candidate'],
  ['Expected hop claim', 'expected_claim'],
  ['Expected page', 'expected_page'],
  ['Expected target', 'expected_target'],
  ['Expected target role', 'expected_target_role'],
  ['Evidence page', 'evidence_page'],
  ['Evidence sentence', 'evidence_sentence'],
];

/** The system message: the task and the three labels. */
export function verifierSystem(): string {
  return [
    'Judge what the evidence sentence does for the expected hop claim. Answer with one word.',
    ...LABELS.map((label) => `${label}: ${LABEL_DEFINITIONS[label]}`),
  ].join('\n');
}

/** The user turn of one pair: eight lines, whatever line breaks its fields hold. */
export function verifierUser(fields: VerifierFields): string {
  return VERIFIER_LINES.map(([name, field]) => promptLine(name, fields[field])).join('\n');
}

/** One named line; a field cannot begin another line, nor end in white space that a template might trim. */
export function promptLine(name: string, value: string): string {
  return `${name}: ${oneLine(value)}`.trimEnd();
}

/** sha256 of the system message and the layout of the user turn: another value is another prompt, and a model belongs to one. */
export function promptSha256(): string {
  return sha256(canonicalJson({ system: verifierSystem(), lines: VERIFIER_LINES.map(([name, field]) => [name, field]) }));
}

/**
 * Line breaks and the control characters that some languages take for white space become spaces, and lone surrogates the replacement
 * character: what UTF-8, JSON and Python would each make something else of.
 */
function oneLine(value: string): string {
  return (
    value
      .toWellFormed()
      // oxlint-disable-next-line no-control-regex
      .replace(/[\n\v\f\r\x1c-\x1f\x85\u2028\u2029\ufeff]+/g, ' ')
      .trim()
  );
}
