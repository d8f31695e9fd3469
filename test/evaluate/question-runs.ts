import fc from 'fast-check';
import { roundMargin } from '../../src/core/units.js';
import type { QuestionRun } from '../../src/evaluate/question-run.js';

/** A question written by hand: margins and verdicts loop by loop ("." not covered, "F" covered). */
export function question(margins: readonly number[], fires: string, more: Partial<QuestionRun> = {}): QuestionRun {
  return {
    id: 'q',
    row: 0,
    margins: Float64Array.from(margins),
    fires: fires.split('').map((one) => one === 'F'),
    goldLoop: null,
    claims: 2,
    deciderClaims: more.claims ?? 2,
    ...more,
  };
}

/** Any questions at all: ties between margins, verdicts that are taken back, margins that rise, gold loops known, unreached or unknown. */
export const anyQuestions: fc.Arbitrary<QuestionRun[]> = fc
  .array(
    fc
      .array(
        fc.record({
          margin: fc.oneof(fc.constantFrom(0, 0.1, 0.2, 0.3, 2), fc.double({ min: 0, max: 2, noNaN: true }).map(roundMargin)),
          fires: fc.boolean(),
        }),
        { minLength: 1, maxLength: 7 },
      )
      .chain((loops) =>
        fc.record({
          loops: fc.constant(loops),
          goldLoop: fc.oneof(fc.constant(null), fc.constant(Infinity), fc.integer({ min: 1, max: loops.length })),
          claims: fc.integer({ min: 1, max: 4 }),
        }),
      ),
    { minLength: 1, maxLength: 12 },
  )
  .map((all) =>
    all.map(({ loops, goldLoop, claims }, row) => ({
      id: `q${row}`,
      row,
      margins: Float64Array.from(loops, (one) => one.margin),
      fires: loops.map((one) => one.fires),
      goldLoop,
      claims,
      deciderClaims: claims,
    })),
  );
