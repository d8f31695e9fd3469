import { InputError } from '../../src/core/errors.js';
import { questionKey } from '../../src/core/question-key.js';
import { type Decider, loopVerdict } from './decider.js';
import type { StoredVerdicts } from './read-verdicts.js';
import { DEFAULT_THRESHOLD, questionVerdict } from './verdict.js';

/**
 * The OR of two deciders' stored verdicts: a loop is covered where either covers it, under its own threshold and with all claims matched
 * (HALT, appendix D). A question that one of them left out is left out.
 */
export async function orDecider(first: StoredVerdicts, second: StoredVerdicts): Promise<Decider> {
  const both = await Promise.all([firesOf(first), firesOf(second)]);
  return {
    name: 'or',
    identity: {
      decider: 'or',
      of: [first, second].map(({ details }) => ({ name: details.name, claims: details.claims, decider: details.decider })),
    },
    readsClaims: false,
    scan: { threshold: DEFAULT_THRESHOLD, allPairs: false },
    decide: async ({ trajectory }) => {
      const place = { row: trajectory.row, questionId: trajectory.question_id };
      const fires = both.map((one) => one.get(questionKey(trajectory)));
      if (fires.includes(undefined)) return { excluded: 'left_out_by_a_decider' };
      const wrong = fires.find((one) => one?.length !== trajectory.loops.length);
      if (wrong) throw new InputError(`got verdicts for ${wrong.length} loops, expected ${trajectory.loops.length}`, place);
      return {
        claims: null,
        verdicts: trajectory.loops.map(({ loop }) => loopVerdict(loop, fires.some((one) => one?.[loop - 1]) ? 1 : 0)),
      };
    },
  };
}

async function firesOf({ questions, scan }: StoredVerdicts): Promise<Map<string, readonly boolean[]>> {
  const fires = new Map<string, readonly boolean[]>();
  for await (const { question, rows } of questions()) fires.set(questionKey(question), questionVerdict(question, rows, scan).firesByLoop);
  return fires;
}
