import { join } from 'node:path';
import { type Claim, claimColumns } from '../../src/core/claims.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { random } from '../../src/core/random.js';
import { type HopRecord, recordColumns } from '../../src/core/records.js';
import { runFolder } from '../../src/core/run-folder.js';
import { type Loop, trajectoryColumns } from '../../src/core/trajectories.js';

const NOUNS = ['river', 'film', 'castle', 'composer', 'bridge', 'novel', 'island', 'painter', 'league', 'station', 'duke', 'orchestra'];
const VERBS = [
  'was named after',
  'was directed by',
  'lies north of',
  'was built for',
  'was married to',
  'plays against',
  'was recorded in',
];

/** A sentence of eight to thirty words, different for every number. */
export function sentenceOf(seed: number, at: number): string {
  const draw = random(seed, 'sentence', at);
  const clause = (): string =>
    `the ${NOUNS[draw.int(NOUNS.length)]} ${VERBS[draw.int(VERBS.length)]} a ${NOUNS[draw.int(NOUNS.length)]} of ${1500 + draw.int(500)}`;
  return `In record ${at}, ${Array.from({ length: 1 + draw.int(3) }, clause).join(' and ')}.`;
}

export interface WrittenRun {
  dir: string;
  records: HopRecord[];
  loops: Loop[];
  claims: Claim[];
}

/** Writes a finished run below `dir` with `questions` questions of three loops with three sentences each, and two gold claims each. */
export async function writeRun(dir: string, questions: number, seed = 13): Promise<WrittenRun> {
  const records = Array.from({ length: questions }, (_, row): HopRecord => ({
    question_id: `q${row}`,
    row,
    dataset: 'hotpotqa',
    question: `Which ${NOUNS[row % NOUNS.length]} belongs to record ${row}?`,
    answer: null,
    aliases: [],
    type: null,
    level: null,
    pages: [0, 1, 2].map((page) => ({
      title: `Page ${row}.${page}`,
      sentences: [0, 1, 2].map((at) => sentenceOf(seed, row * 9 + page * 3 + at)),
    })),
    supporting: [],
    decomposition: [],
    evidences: [],
  }));
  const loops = records.flatMap((record) =>
    record.pages.map(({ title, sentences }, page): Loop => ({
      question_id: record.question_id,
      row: record.row,
      loop: page + 1,
      query: record.question,
      sub_answer: null,
      sentences: sentences.map((text, sentence) => ({ page, sentence, title, text, score: 1 })),
      stop_reason: page === 2 ? 'budget' : null,
    })),
  );
  const claims = records.flatMap((record) =>
    [0, 1].map((claim): Claim => ({
      question_id: record.question_id,
      row: record.row,
      question: record.question,
      claim,
      source: 'gold',
      page: `Page ${record.row}.${claim}`,
      expected_target: `Page ${record.row}.${claim}`,
      role: 'answer_node',
      answer_type: '',
      expected_claim: `Page ${record.row}.${claim}: something holds.`,
      subquestion: null,
    })),
  );
  const run = await openOutputFolder({ dir, kind: 'trajectories', command: 'trajectories run', options: {}, seed, inputs: [] });
  await run.table('trajectories', trajectoryColumns, loops, 'arrow');
  await run.table('records', recordColumns, records, 'arrow');
  await run.finish({ counts: { questions }, details: { dataset: 'hotpotqa' } });
  await writeClaims(runFolder.claims(dir, 'gold'), claims);
  return { dir, records, loops, claims };
}

export async function writeClaims(dir: string, claims: readonly Claim[]): Promise<void> {
  const out = await openOutputFolder({ dir, kind: 'claims', command: 'claims build', options: {}, seed: 13, inputs: [] });
  await out.table('claims', claimColumns, claims, 'arrow');
  await out.finish({ counts: { claims: claims.length } });
}

export const tableFile = (folder: string): string => join(folder, 'embeddings.arrow');
