import { InputError } from '../core/errors.js';
import { extractionColumns } from '../core/extractions.js';
import { type Json, readManifest } from '../core/manifest.js';
import { questionKey } from '../core/question-key.js';
import type { HopRecord } from '../core/records.js';
import { runFolder } from '../core/run-folder.js';
import { readTable } from '../core/tables.js';
import type { Trajectory } from '../core/trajectories.js';
import { type AnswerScore, scoreAnswer } from './answer-scores.js';
import { goldAnswers, nativeAnswers } from './extract-run.js';
import type { LoopAnswers } from './question-run.js';
import { type RunFolderManifest, checkExtractionsOfRun } from './same-run.js';

/** Who extracted: extractions of equal identity were made by one extractor. */
export interface ExtractorIdentity {
  name: string;
  identity: Json;
}

/** The answers of some extractors on one run, and the agent's own. */
export interface RunAnswers {
  extractors: ExtractorIdentity[];
  /** By extractor. Throws InputError where an extractor has not one answer a loop. */
  of: (trajectory: Trajectory) => ReadonlyMap<string, LoopAnswers>;
  /** Undefined where the run's agent gives no answers, or the record has none. */
  native: (question: { question_id: string; row: number }) => AnswerScore | undefined;
}

/**
 * Reads `RUN/extractions/NAME` for each name. Answers are scored anew against the run's records, whose answers are the gold ones.
 *
 * @param records those of the run; empty where it has none
 */
export async function readRunAnswers(
  run: RunFolderManifest,
  names: readonly string[],
  records: readonly Pick<HopRecord, 'row' | 'question_id' | 'answer' | 'aliases'>[],
): Promise<RunAnswers> {
  const gold = new Map(records.map((record) => [questionKey(record), goldAnswers(record)]));
  const own = names.length === 0 ? null : await nativeAnswers(run.folder, run.manifest);
  const texts = new Map<string, Map<string, string[]>>();
  const extractors: ExtractorIdentity[] = [];
  for (const name of names) {
    const folder = runFolder.extractions(run.folder, name);
    const manifest = await readManifest(folder, 'extractions');
    await checkExtractionsOfRun(run, { folder, name, manifest });
    const { llm = null, prompt = null, 'max-input-tokens': limit = null } = manifest.options;
    extractors.push({ name, identity: { llm, prompt, limit } });
    const byQuestion = new Map<string, string[]>();
    for await (const row of readTable(folder, manifest, 'extractions', extractionColumns)) {
      const answers = byQuestion.get(questionKey(row));
      if (answers) answers.push(row.answer);
      else byQuestion.set(questionKey(row), [row.answer]);
    }
    texts.set(name, byQuestion);
  }
  return {
    extractors,
    of: (trajectory) => {
      const answers = new Map<string, LoopAnswers>();
      for (const name of names) {
        const said = texts.get(name)?.get(questionKey(trajectory)) ?? [];
        if (said.length !== trajectory.loops.length)
          throw new InputError(`got answers for ${said.length} loops, expected ${trajectory.loops.length} as in the trajectories`, {
            file: runFolder.extractions(run.folder, name),
            row: trajectory.row,
            questionId: trajectory.question_id,
          });
        const right = gold.get(questionKey(trajectory)) ?? null;
        answers.set(name, { texts: said, scores: right && said.map((one) => scoreAnswer(one, right)) });
      }
      return answers;
    },
    native: (question) => {
      const right = gold.get(questionKey(question));
      return own && right ? scoreAnswer(own.get(questionKey(question)) ?? '', right) : undefined;
    },
  };
}
