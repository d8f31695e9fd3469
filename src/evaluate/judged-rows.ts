import { type ClassReport, classReport, labelSaid, macroF1 } from '../core/class-report.js';
import { LABELS, type LabelRow } from '../core/labels.js';
import { questionKey } from '../core/question-key.js';
import { random } from '../core/random.js';
import { type Bootstrap, pairedBootstraps } from '../stats/index.js';

/** A label row with what a verifier said of it: probabilities in the order of LABELS. */
export interface JudgedLabelRow {
  row: LabelRow;
  probabilities: readonly number[];
}

export interface VerifierFigures {
  dataset: string;
  form: LabelRow['form'];
  questions: number;
  report: ClassReport;
  /** Interval of the macro-F1, questions drawn whole. */
  macroF1: Pick<Bootstrap, 'estimate' | 'low' | 'high'>;
}

/**
 * Rows with equal classes within each dataset and form: each class is undersampled to the smallest. Candidates are drawn in one seeded order
 * for all forms, so that the forms are compared on the same sentences as far as they have them. The rows keep their order.
 */
export function balancedRows(rows: readonly LabelRow[], seed: number): LabelRow[] {
  const places = [...new Set(rows.map(placeOf))];
  const rank = new Map(
    random(seed, 'balanced-rows')
      .shuffle(places)
      .map((place, at) => [place, at]),
  );
  const kept = new Set<LabelRow>();
  for (const group of groups(rows, (row) => row).values()) {
    const classes = LABELS.map((label) => group.filter((row) => row.label === label));
    const size = Math.min(...classes.map((one) => one.length));
    for (const one of classes) {
      const drawn = one.toSorted((a, b) => (rank.get(placeOf(a)) as number) - (rank.get(placeOf(b)) as number));
      for (const row of drawn.slice(0, size)) kept.add(row);
    }
  }
  return rows.filter((row) => kept.has(row));
}

/** Figures of each dataset and form, with a percentile interval from resampled questions. */
export function verifierFigures(judged: readonly JudgedLabelRow[], options: { seed: number; resamples: number }): VerifierFigures[] {
  return [...groups(judged, (one) => one.row).values()].map((group) => {
    const { dataset, form } = (group[0] as JudgedLabelRow).row;
    const { questions, columns } = confusionColumns(group, [group.map(saidOf)]);
    const { value } = pairedBootstraps({ columns, statistics: { value: (totals) => f1Of(totals, 0) }, ...options });
    return {
      dataset,
      form,
      questions,
      report: classReport(group.map(({ row, probabilities }) => ({ gold: goldOf(row), probabilities }))),
      macroF1: { estimate: value.estimate, low: value.low, high: value.high },
    };
  });
}

export interface VerifierDifference {
  dataset: string;
  form: LabelRow['form'];
  /** Macro-F1 of the first verifier minus that of the second, on the same rows and the same resampled questions. */
  difference: Pick<Bootstrap, 'estimate' | 'low' | 'high'>;
}

/** Two verifiers on the same rows in the same order. Throws RangeError where they are not. */
export function verifierDifferences(
  first: readonly JudgedLabelRow[],
  second: readonly JudgedLabelRow[],
  options: { seed: number; resamples: number },
): VerifierDifference[] {
  if (first.length !== second.length || first.some(({ row }, at) => row !== second[at]?.row))
    throw new RangeError('two verifiers are compared on the same rows in the same order');
  const both = first.map(({ row, probabilities }, at) => ({ row, probabilities, other: (second[at] as JudgedLabelRow).probabilities }));
  return [...groups(both, (one) => one.row).values()].map((group) => {
    const { dataset, form } = (group[0] as JudgedLabelRow).row;
    const { columns } = confusionColumns(group, [group.map(saidOf), group.map(({ other }) => labelSaid(other))]);
    const { value } = pairedBootstraps({ columns, statistics: { value: (totals) => f1Of(totals, 0) - f1Of(totals, 1) }, ...options });
    return { dataset, form, difference: { estimate: value.estimate, low: value.low, high: value.high } };
  });
}

/** Confusion counts of each question, one column a cell and verifier: what a bootstrap over whole questions sums. */
function confusionColumns(
  group: readonly { row: LabelRow }[],
  said: readonly (readonly number[])[],
): { questions: number; columns: Record<string, Float64Array> } {
  const numbers = new Map<string, number>();
  for (const { row } of group) if (!numbers.has(questionKey(row))) numbers.set(questionKey(row), numbers.size);
  const columns: Record<string, Float64Array> = {};
  for (const verifier of said.keys())
    for (const gold of LABELS.keys())
      for (const label of LABELS.keys()) columns[cell(verifier, gold, label)] = new Float64Array(numbers.size);
  for (const [verifier, labels] of said.entries())
    for (const [at, { row }] of group.entries()) {
      const column = columns[cell(verifier, goldOf(row), labels[at] as number)] as Float64Array;
      const question = numbers.get(questionKey(row)) as number;
      column[question] = (column[question] as number) + 1;
    }
  return { questions: numbers.size, columns };
}

function f1Of(totals: Readonly<Record<string, number>>, verifier: number): number {
  return macroF1([...LABELS.keys()].map((gold) => [...LABELS.keys()].map((label) => totals[cell(verifier, gold, label)] as number)));
}

function cell(verifier: number, gold: number, said: number): string {
  return `${verifier}/${gold}/${said}`;
}

function saidOf({ probabilities }: { probabilities: readonly number[] }): number {
  return labelSaid(probabilities);
}

function goldOf(row: LabelRow): number {
  return LABELS.indexOf(row.label);
}

/** A candidate, whatever its form: a sentence that stands in for one claim. */
function placeOf(row: LabelRow): string {
  return `${row.dataset}/${questionKey(row)}/${row.page_index}/${row.sentence_index}`;
}

function groups<T>(items: readonly T[], rowOf: (item: T) => LabelRow): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const item of items) {
    const { dataset, form } = rowOf(item);
    const key = `${dataset}/${form}`;
    const group = found.get(key);
    if (group) group.push(item);
    else found.set(key, [item]);
  }
  return found;
}
