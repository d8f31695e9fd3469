import { InputError } from '../src/core/errors.js';
import type { Manifest } from '../src/core/manifest.js';
import { type TableFormat, openOutputFolder } from '../src/core/output-folder.js';
import { type HopRecord, recordColumns } from '../src/core/records.js';
import { repairedFaults } from './faults.js';
import type { OpenedRecords } from './open-records.js';

export interface ConvertOptions {
  out: string;
  /** Default `arrow`. */
  format?: TableFormat | undefined;
  /** Nothing is drawn; the manifest names it. Default 13. */
  seed?: number | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
}

/**
 * Rewrites any input as a records folder: `records.arrow` or `records.jsonl`, `quarantine.jsonl` and the manifest. Records keep their row
 * numbers, so that what is built from the folder is what would be built from the file. An interrupted run is done again from its start:
 * reading is its whole cost. Throws InputError, and leaves nothing, when the input as a whole is no use.
 */
export async function convertRecords(opened: OpenedRecords, options: ConvertOptions): Promise<Manifest> {
  const { format = 'arrow', seed = 13 } = options;
  const out = await openOutputFolder({
    dir: options.out,
    kind: 'records',
    command: 'data convert',
    options: { dataset: opened.dataset, ids: opened.ids, format },
    seed,
    inputs: opened.inputs,
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return out.finished;

  const counts = { records: 0, pages: 0, sentences: 0, supporting_facts: 0 };
  async function* records(): AsyncGenerator<HopRecord> {
    for await (const record of opened.records) {
      counts.records++;
      counts.pages += record.pages.length;
      for (const { sentences } of record.pages) counts.sentences += sentences.length;
      counts.supporting_facts += record.supporting.length;
      // Left as they are here; listed, since whoever reads the records works around them.
      for (const { kind, field, detail } of repairedFaults(record))
        opened.quarantine.repair({ row: record.row, question_id: record.question_id, reason: kind, field, detail });
      yield record;
    }
  }
  try {
    await out.table('records', recordColumns, records(), format);
  } catch (error) {
    if (error instanceof InputError) await out.discard();
    throw error;
  }
  await out.jsonl('quarantine.jsonl', opened.quarantine.entries);
  return out.finish({
    counts: { ...counts, repaired: { ...opened.quarantine.repaired } },
    quarantined: opened.quarantine.skipped,
    details: { dataset: opened.dataset, dataset_version: opened.version, splitter: opened.splitter },
  });
}
