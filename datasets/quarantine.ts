/** Why a record of the file was left out. */
export const SKIP_REASONS = {
  bad_json: 'the record is not JSON',
  bad_utf8: 'the bytes are not UTF-8',
  cut_off: 'the last line is not JSON and has no line end: the file may have been cut off',
  too_long: 'the record is longer than what is kept in memory',
  bad_field: 'a field is missing or has another form',
  no_id: 'the record has no id (--ids row or --ids hash makes one)',
  no_question: 'the question is empty',
  repeated_row: 'two records say that they are the same row',
  no_supporting: 'the record has no supporting facts',
  no_claims: 'the supporting facts yield no claim',
  gold_page_missing: 'a supporting page is not in the pool',
  bad_marks: 'the marks of a transcript do not fit each other',
  mixed_sentences: 'other trajectories of the file ship sentences where this one has text, or the other way round',
  unknown_question: 'the question is not in the file that the questions are taken from',
} as const;
export type SkipReason = keyof typeof SKIP_REASONS;

/** One line of `quarantine.jsonl`: a record that was left out (`skipped`), or one that was used after a repair. */
export interface QuarantineEntry {
  action: 'skipped' | 'repaired';
  reason: string;
  row: number;
  line: number | null;
  question_id: string | null;
  field: string | null;
  detail: string;
  /** Base name of the file and zero-based position in it, where the input is several files; `row` counts through all of them. */
  file?: string;
  file_row?: number;
}

/**
 * What was left out and what was repaired while records were read. It is complete once the records have been read to their end.
 * `skipped` and `repaired` count by reason.
 */
export interface Quarantine {
  readonly entries: readonly QuarantineEntry[];
  readonly skipped: { readonly [reason: string]: number };
  readonly repaired: { readonly [reason: string]: number };
  skip(entry: Pick<QuarantineEntry, 'row' | 'detail'> & Partial<QuarantineEntry> & { reason: SkipReason }): void;
  repair(entry: Pick<QuarantineEntry, 'row' | 'detail' | 'reason'> & Partial<QuarantineEntry>): void;
  clear(): void;
}

/** @param locate The file of a row, where there are several. */
export function makeQuarantine(locate?: (row: number) => { file: string; file_row: number } | undefined): Quarantine {
  const entries: QuarantineEntry[] = [];
  const skipped: { [reason: string]: number } = {};
  const repaired: { [reason: string]: number } = {};
  const add = (action: QuarantineEntry['action'], entry: Parameters<Quarantine['repair']>[0]): void => {
    const counts = action === 'skipped' ? skipped : repaired;
    counts[entry.reason] = (counts[entry.reason] ?? 0) + 1;
    entries.push({
      action,
      reason: entry.reason,
      row: entry.row,
      line: entry.line ?? null,
      question_id: entry.question_id ?? null,
      field: entry.field ?? null,
      detail: entry.detail,
      ...locate?.(entry.row),
    });
  };
  return {
    entries,
    skipped,
    repaired,
    skip: (entry) => add('skipped', entry),
    repair: (entry) => add('repaired', entry),
    clear: () => {
      entries.length = 0;
      for (const counts of [skipped, repaired]) for (const reason of Object.keys(counts)) delete counts[reason];
    },
  };
}
