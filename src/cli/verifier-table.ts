import { labelSaid } from '../core/class-report.js';
import { LABELS } from '../core/labels.js';
import { type JudgedLabelRow, type VerifierDifference, type VerifierFigures, figure, textTable } from '../evaluate/index.js';

/** One judged row as a file keeps it, so that the same rows can be judged by others. */
export function judgedLine({ row, probabilities }: JudgedLabelRow): object {
  const [match = NaN, partial = NaN, nothing = NaN] = probabilities;
  const { dataset, question_id, claim, form, page_index, sentence_index, label } = row;
  return {
    dataset,
    question_id,
    row: row.row,
    claim,
    form,
    page_index,
    sentence_index,
    label,
    said: LABELS[labelSaid(probabilities)],
    p_match: match,
    p_partial: partial,
    p_null: nothing,
  };
}

/** Figures as a table, one line for each dataset and form; `last` adds a column of intervals. */
export function figuresTable(
  figures: readonly VerifierFigures[],
  last?: { title: string; differences: readonly VerifierDifference[] },
): string {
  const header = ['dataset form', 'rows', 'questions', 'macro-F1 [95%]', 'accuracy', 'F1 match/partial/null', 'P(gold) match/partial/null'];
  const lines = figures.map(({ dataset, form, questions, report, macroF1 }, at) => [
    `${dataset} ${form}`,
    String(report.rows),
    String(questions),
    interval(macroF1),
    figure(report.accuracy),
    perLabel(report.f1),
    perLabel(report.p_gold),
    ...(last ? [interval((last.differences[at] as VerifierDifference).difference)] : []),
  ]);
  return textTable(last ? [...header, last.title] : header, lines);
}

export function interval({ estimate, low, high }: VerifierFigures['macroF1']): string {
  return `${figure(estimate)} [${figure(low)}, ${figure(high)}]`;
}

export function perLabel(values: VerifierFigures['report']['f1']): string {
  return Object.values(values)
    .map((one) => figure(one))
    .join(' / ');
}
