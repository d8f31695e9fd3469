import { join } from 'node:path';
import { type Vectors, openVectors } from '../../runtime/index.js';
import { type EncoderIdentity, type EvidenceText, evidenceText, sameEncoderField } from '../core/embeddings.js';
import { InputError, shown } from '../core/errors.js';
import { MANIFEST_NAME, readManifest } from '../core/manifest.js';
import { questionKey } from '../core/question-key.js';
import { recordColumns } from '../core/records.js';
import { runFolder } from '../core/run-folder.js';
import { readTable } from '../core/tables.js';
import { groupTrajectories, trajectoryColumns } from '../core/trajectories.js';

export interface RunEvidence {
  /** By question text: each loop's newly retrieved sentences as unit vectors. Of a text that stands twice the first. */
  byQuestion: Map<string, Float32Array[][]>;
  evidenceText: EvidenceText;
  /** The manifests that stand for what was read. */
  files: string[];
}

/**
 * What the agent retrieved in some runs, as vectors of one encoder: for margin distillation (method.md §7). Throws InputError where a run has no
 * records, lacks a vector, or was embedded by another encoder.
 */
export async function runEvidence(
  runs: readonly string[],
  encoder: EncoderIdentity,
  text: EvidenceText = 'title+sentence',
): Promise<RunEvidence> {
  const read: RunEvidence = { byQuestion: new Map(), evidenceText: text, files: [] };
  for (const run of runs) {
    const manifest = await readManifest(run, 'trajectories');
    const folder = runFolder.embeddings(run, encoder.name);
    const vectors = await openVectors(folder);
    checkEncoder(encoder, vectors.identity, folder);
    read.files.push(join(run, MANIFEST_NAME), join(folder, MANIFEST_NAME));
    if (!manifest.outputs.some((one) => /^records\.(arrow|jsonl)$/.test(one.name))) {
      throw new InputError('has no records, which hold the questions', { file: run });
    }
    const questions = new Map<string, string>();
    for await (const record of readTable(run, manifest, 'records', recordColumns)) {
      questions.set(questionKey(record), record.question);
    }
    for await (const trajectory of groupTrajectories(readTable(run, manifest, 'trajectories', trajectoryColumns))) {
      const { loops } = trajectory;
      const question = questions.get(questionKey(trajectory));
      if (question === undefined || read.byQuestion.has(question)) continue;
      read.byQuestion.set(
        question,
        loops.map(({ sentences }) => broughtVectors(sentences, vectors, text)),
      );
    }
  }
  return read;
}

function checkEncoder(expected: EncoderIdentity, got: EncoderIdentity, file: string): void {
  for (const field of Object.keys(expected) as (keyof EncoderIdentity)[]) {
    if (sameEncoderField(field, expected[field], got[field])) continue;
    throw new InputError(`got ${shown(got[field])}, expected ${shown(expected[field])} as in the encoder that the drafter is trained on`, {
      file,
      field: `details.encoder.${field}`,
    });
  }
}

/** An empty sentence has no embedding and is no evidence. */
function broughtVectors(sentences: readonly { title: string; text: string }[], vectors: Vectors, text: EvidenceText): Float32Array[] {
  return sentences.filter((one) => one.text.trim() !== '').map((one) => vectors.get('passage', evidenceText(one.title, one.text, text)));
}
