import type { LabelRow } from '../src/core/labels.js';
import { InputError } from '../src/core/errors.js';
import type { JobRow } from '../src/core/verifier-job.js';
import { fieldsOf } from '../src/core/verifier-fields.js';
import type { VerifierTokens } from '../src/prompts/index.js';

/** A row of a job with what is known of it beyond its line. */
export interface PlannedRow extends JobRow {
  /** Code points of evidence that were cut. */
  cut: number;
}

/** Rows of a job by split. */
export interface PlannedRows {
  train: PlannedRow[];
  dev: PlannedRow[];
}

/** The name of a label row: the columns that tell it from every other. */
export function labelRowName(row: LabelRow): string {
  return [row.dataset, row.row, row.question_id, row.claim, row.form, row.page_index, row.sentence_index].join('/');
}

/** Renders and encodes a label row. Throws InputError that names the row. */
export function plannedRow(row: LabelRow, tokens: VerifierTokens): PlannedRow {
  const name = labelRowName(row);
  try {
    const { ids, cut } = tokens.prompt(fieldsOf(row));
    const label = tokens.labelIds[row.label];
    return { row: name, label: row.label, form: row.form, ids: [...ids, ...label], loss: [ids.length, ids.length + label.length], cut };
  } catch (error) {
    if (error instanceof InputError) throw new InputError(`${name}: ${error.message}`);
    throw error;
  }
}
