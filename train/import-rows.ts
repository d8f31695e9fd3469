import { join } from 'node:path';
import { classReport } from '../src/core/class-report.js';
import { InputError, shown } from '../src/core/errors.js';
import type { DevScores, GoldenScores, Variant, VerifierExport } from '../src/core/verifier-export.js';
import { EXPORT_NAME } from './import-files.js';

/** Checks that every golden row was scored with every variant that is asked for. */
export function checkGolden(file: string, golden: readonly GoldenScores[], wanted: readonly Variant[]): void {
  if (golden.length === 0) throw new InputError('has no rows, so nothing could be compared', { file });
  for (const [at, { onnx }] of golden.entries()) {
    const missing = wanted.find((variant) => onnx[variant] === undefined);
    if (missing !== undefined) throw new InputError(`no scores of ${missing} in Python`, { file, line: at + 1, field: `onnx.${missing}` });
  }
}

/** The trainer's figures are those of the scores that it wrote: else they were measured on something else. */
export function checkMetrics(exportDir: string, { labels, metrics: { dev: said } }: VerifierExport, dev: readonly DevScores[]): void {
  const own = classReport(dev.map((row) => ({ gold: labels.indexOf(row.label), probabilities: row.scores })));
  const place = (field: string): { file: string; field: string } => ({ file: join(exportDir, EXPORT_NAME), field: `metrics.dev.${field}` });
  if (said.rows !== own.rows) throw new InputError(`got ${said.rows}, but dev-scores.jsonl has ${own.rows}`, place('rows'));
  for (const field of ['accuracy', 'macro_f1'] as const) {
    // Sums in another order, hence not to the last bit.
    if (Math.abs((said[field] ?? -1) - (own[field] ?? -1)) > 1e-9)
      throw new InputError(`got ${said[field]}, but the scores in dev-scores.jsonl give ${own[field]}`, place(field));
  }
  if (JSON.stringify(said.confusion) !== JSON.stringify(own.confusion))
    throw new InputError(
      `got ${shown(said.confusion)}, but the scores in dev-scores.jsonl give ${shown(own.confusion)}`,
      place('confusion'),
    );
}

/** So many of the rows, evenly spread. */
export function spread<T>(rows: readonly T[], most: number): T[] {
  const count = Math.min(most, rows.length);
  return Array.from({ length: count }, (_, at) => rows[Math.floor((at * rows.length) / count)] as T);
}
