import { join } from 'node:path';
import { InputError } from './errors.js';
import { CLAIM_FORMS, type ClaimForm, type LabelRow, labelColumns } from './labels.js';
import { MANIFEST_NAME, readManifest, tableSha256 } from './manifest.js';
import { refuseRepeats } from './repeats.js';
import { readTable } from './tables.js';
import { normaliseSentence } from './text.js';

export interface PairRows {
  training: LabelRow[];
  /** The rows of the folders' dev splits. */
  heldOut: LabelRow[];
  /** The folders' manifests. */
  inputs: string[];
  /** Rows of forms that were not asked for. */
  leftOut: number;
}

/**
 * The label rows of folders of kind `labels`. Throws InputError for another folder or the same twice, where no training row is left, or where a question
 * trains in one folder and is held out in another.
 *
 * @param forms Only rows of these forms; default all.
 */
export async function readPairRows(folders: readonly string[], forms: readonly ClaimForm[] = CLAIM_FORMS): Promise<PairRows> {
  const result: PairRows = { training: [], heldOut: [], inputs: [], leftOut: 0 };
  const splits = new Map<string, LabelRow['split']>();
  const read: { file: string; sha256: string }[] = [];
  for (const folder of folders) {
    const manifest = await readManifest(folder, 'labels');
    read.push({ file: folder, sha256: tableSha256(folder, manifest, 'labels') });
    refuseRepeats(read);
    result.inputs.push(join(folder, MANIFEST_NAME));
    for await (const row of readTable(folder, manifest, 'labels', labelColumns)) {
      const question = normaliseSentence(row.question);
      const split = splits.get(question) ?? row.split;
      splits.set(question, split);
      if (split !== row.split)
        throw new InputError(
          `the question is in ${split} in one folder and in ${row.split} in this one: held-out rows would not be held out`,
          {
            file: folder,
            row: row.row,
            questionId: row.question_id,
          },
        );
      if (!forms.includes(row.form)) result.leftOut++;
      else (row.split === 'train' ? result.training : result.heldOut).push(row);
    }
  }
  if (result.training.length === 0) throw new InputError(`no training row of the forms ${forms.join(', ')}`, { file: folders.join(', ') });
  return result;
}
