import { InputError } from '../src/core/errors.js';
import { DATASETS, type DatasetName } from '../src/core/records.js';
import { BadRecord } from './readers/fields.js';
import { type SourceRow, sourceRows } from './source-rows.js';

const LOOK_AT = 64;

/**
 * The dataset that the first 64 records of a file (or of its shards) belong to, by their fields. HotpotQA and 2Wiki share one form: a file is 2Wiki's when one of
 * these records has evidences, entity ids or one of 2Wiki's own question types.
 * Throws InputError that lists the names when the fields fit none of them.
 */
export async function detectDataset(file: string | readonly string[]): Promise<DatasetName> {
  const files = [file].flat();
  let seen = 0;
  let like: DatasetName | undefined;
  let fields: string[] | undefined;
  for await (const row of sourceRows(files)) {
    const value = fieldsOf(row);
    if (value) {
      fields ??= Object.keys(value);
      const one = datasetOf(value);
      if (one !== undefined && one !== 'hotpotqa') return one;
      like ??= one;
    }
    if (++seen === LOOK_AT) break;
  }
  if (like) return like;
  if (seen === 0) throw new InputError('no record in the file', { file: files[0] });
  const what = fields ? `the first record's fields are ${fields.join(', ')}` : `none of the first ${seen} records is a JSON object`;
  throw new InputError(`cannot tell which dataset this is (${what}); --dataset names it: ${DATASETS.join(', ')}`, { file: files[0] });
}

const WIKI2_TYPES = new Set(['compositional', 'inference', 'bridge_comparison']);

function datasetOf(value: object): DatasetName | undefined {
  const has = (...names: string[]): boolean => names.some((name) => name in value);
  if (has('paragraphs', 'question_decomposition')) return 'musique';
  if (has('pages') || (has('question_id') && has('question'))) return 'jsonl';
  if (has('context')) {
    const type = (value as { type?: unknown }).type;
    return has('evidences', 'evidences_id', 'entity_ids') || (typeof type === 'string' && WIKI2_TYPES.has(type)) ? '2wiki' : 'hotpotqa';
  }
  if (has('Question') || ('source' in value && value.source === 'bamboogle')) return 'bamboogle';
  return undefined;
}

function fieldsOf(row: SourceRow): object | undefined {
  try {
    const { value } = row.read();
    return value !== null && typeof value === 'object' && !Array.isArray(value) ? value : undefined;
  } catch (error) {
    if (error instanceof BadRecord) return undefined;
    throw error;
  }
}
