import { foldSpace } from '../src/core/text.js';
import type { HopRecord } from '../src/core/records.js';
import type { OpenedRecords } from './open-records.js';
import { BadRecord } from './readers/fields.js';
import type { ReadTrajectory } from './trajectory-readers/index.js';

/** What names the question of a trajectory. */
export type QuestionName = Pick<ReadTrajectory, 'id' | 'question'>;

/** The dataset's record of a trajectory's question. Throws BadRecord where there is none, or more than one. */
export type QuestionLookup = (name: QuestionName) => HopRecord;

/**
 * Reads a dataset file once and keeps the records that some trajectory names, by id or by question text (white space folded). An id counts
 * only where the question is the same, or the trajectory has none: the ids of two files may number different questions. A text that several
 * records of different ids have names none of them.
 */
export async function questionLookup(opened: OpenedRecords, names: AsyncIterable<QuestionName>): Promise<QuestionLookup> {
  const ids = new Set<string>();
  const texts = new Set<string>();
  for await (const { id, question } of names) {
    if (id !== undefined) ids.add(id);
    if (question !== undefined) texts.add(foldSpace(question));
  }
  const byId = new Map<string, HopRecord>();
  const byText = new Map<string, HopRecord[]>();
  for await (const record of opened.records) {
    const text = foldSpace(record.question);
    if (ids.has(record.question_id) && !byId.has(record.question_id)) byId.set(record.question_id, record);
    if (texts.has(text)) byText.set(text, [...(byText.get(text) ?? []), record]);
  }
  return ({ id, question }) => {
    const text = question === undefined ? undefined : foldSpace(question);
    const named = id === undefined ? undefined : byId.get(id);
    if (named && (text === undefined || foldSpace(named.question) === text)) return named;
    const same = text === undefined ? [] : (byText.get(text) ?? []);
    const [first] = same;
    if (first && same.every((one) => one.question_id === first.question_id)) return first;
    if (first) throw new BadRecord('unknown_question', `${same.length} records have this question`, 'question');
    const what = named ? `the record with this id has another question` : 'no record has this id or question';
    throw new BadRecord('unknown_question', what, text === undefined ? 'id' : 'question');
  };
}
