import { z } from 'zod';
import { LABELS } from './labels.js';

const perLabel = z.strictObject({ match: z.nullable(z.number()), partial: z.nullable(z.number()), null: z.nullable(z.number()) });

/** What a verifier did with labelled rows. */
export const classReportSchema = z.strictObject({
  rows: z.int().nonnegative(),
  accuracy: z.nullable(z.number()),
  /** Mean of the classes' F1 over those that have a row; null without rows. */
  macro_f1: z.nullable(z.number()),
  /** Null where the class has neither a row nor a prediction. */
  f1: perLabel,
  /** Mean probability that the verifier gave a row's own label, over the class's rows; null where it has none. */
  p_gold: perLabel,
  /** `confusion[gold][said]`, in the order of LABELS; counts, or sums of weights. */
  confusion: z.array(z.array(z.number()).length(LABELS.length)).length(LABELS.length),
});
export type ClassReport = z.infer<typeof classReportSchema>;

export interface JudgedRow {
  /** Position in LABELS. */
  gold: number;
  /** Of the labels in the order of LABELS. */
  probabilities: ArrayLike<number>;
  /** Default 1. */
  weight?: number | undefined;
}

/** Confusion, F1 and P(gold label) of each class (method.md §4). The label said is the most probable one; a tie goes to the worse label. */
export function classReport(rows: Iterable<JudgedRow>): ClassReport {
  const confusion = LABELS.map(() => LABELS.map(() => 0));
  const goldProbability = LABELS.map(() => 0);
  let count = 0;
  for (const { gold, probabilities, weight = 1 } of rows) {
    const cells = confusion[gold] as number[];
    const said = labelSaid(probabilities);
    cells[said] = (cells[said] as number) + weight;
    goldProbability[gold] = (goldProbability[gold] as number) + weight * (probabilities[gold] as number);
    count++;
  }
  const totals = confusion.map((cells) => cells.reduce((sum, one) => sum + one, 0));
  const total = totals.reduce((sum, one) => sum + one, 0);
  const right = confusion.reduce((sum, cells, gold) => sum + (cells[gold] as number), 0);
  return {
    rows: count,
    accuracy: total > 0 ? right / total : null,
    macro_f1: total > 0 ? macroF1(confusion) : null,
    f1: byLabel((gold) => f1(confusion, gold)),
    p_gold: byLabel((gold) => ((totals[gold] as number) > 0 ? (goldProbability[gold] as number) / (totals[gold] as number) : null)),
    confusion,
  };
}

/** Position of the label that a verifier says. A tie is no match (method.md §4), and of the other two the worse one. */
export function labelSaid(scores: ArrayLike<number>): number {
  let best = LABELS.length - 1;
  for (let at = best - 1; at >= 0; at--) if ((scores[at] as number) > (scores[best] as number)) best = at;
  return best;
}

/** Mean F1 over the classes that have a row, from a confusion `[gold][said]`; NaN without any row. */
export function macroF1(confusion: readonly (readonly number[])[]): number {
  const present = confusion.flatMap((cells, gold) => (cells.some((one) => one > 0) ? [f1(confusion, gold) ?? 0] : []));
  return present.reduce((sum, one) => sum + one, 0) / present.length;
}

function f1(confusion: readonly (readonly number[])[], label: number): number | null {
  const right = confusion[label]?.[label] ?? 0;
  const ofGold = (confusion[label] ?? []).reduce((sum, one) => sum + one, 0);
  const said = confusion.reduce((sum, cells) => sum + (cells[label] as number), 0);
  return ofGold + said > 0 ? (2 * right) / (ofGold + said) : null;
}

function byLabel(value: (label: number) => number | null): ClassReport['f1'] {
  return { match: value(0), partial: value(1), null: value(2) };
}
