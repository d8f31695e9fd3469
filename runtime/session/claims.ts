import type { Claim, ClaimSource } from '../../src/core/claims.js';
import { InputError } from '../../src/core/errors.js';
import type { ClaimInput } from './gate-options.js';

/** A host's claims as hop claims (method.md §2), numbered in their order. Throws InputError naming the claim that is none. */
export function hopClaims(
  given: readonly ClaimInput[],
  { id, question, source }: { id: string; question: string; source: ClaimSource },
): Claim[] {
  if (!Array.isArray(given)) throw new InputError(`claims: got ${typeof given}, expected a list`);
  return given.map((one: unknown, claim) => {
    const fields = (typeof one === 'string' ? { expected_claim: one } : one) as Partial<Claim> | null;
    const text = fields?.expected_claim;
    if (typeof text !== 'string' || text.trim() === '')
      throw new InputError(`got ${JSON.stringify(text)}, expected a text that is not empty`, { field: `claims[${claim}].expected_claim` });
    const { page = '', expected_target = '', role = 'intermediate', answer_type = '', subquestion = null } = fields as Partial<Claim>;
    return {
      question_id: id,
      row: 0,
      question,
      claim,
      source,
      page,
      expected_target,
      role,
      answer_type,
      expected_claim: text,
      subquestion,
    };
  });
}
