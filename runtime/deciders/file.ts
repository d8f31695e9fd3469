import { z } from 'zod';
import { InputError, shown } from '../../src/core/errors.js';
import { readJsonLines } from '../../src/core/jsonl.js';
import { type Decider, loopVerdict } from './decider.js';
import { DEFAULT_THRESHOLD } from './verdict.js';

export interface FileDeciderOptions {
  /** From which `p` on the rows' `covered` is true; checked on every row that has a p. In (0, 1]. Default 0.5. */
  threshold?: number | undefined;
  /** Leave out questions of which some loop has no verdict, counted, instead of refusing them. Default false. */
  skipIncomplete?: boolean | undefined;
}

const entrySchema = z.object({
  question_id: z.string().min(1),
  /** Only for ids that repeat: the row of the source file; without it the verdict holds for every row with the id. */
  row: z.int().nonnegative().optional(),
  loop: z.int().positive(),
  covered: z.boolean(),
  p: z.number().min(0).max(1).optional(),
});

interface Entry {
  row: number | null;
  covered: boolean;
  p: number;
  line: number;
}

/** question id → loop → entries. */
type Entries = Map<string, Map<number, Entry[]>>;

/**
 * Verdicts made elsewhere, one JSON line a question and loop: `{question_id, loop, covered, p?, row?}`; other fields are passed over. Reads
 * the whole file.
 *
 * @throws InputError for a malformed line, for a `p` on the other side of the threshold than `covered`, and for two lines that contradict
 *   each other. `prepare` throws one that names the loops without a verdict, unless incomplete questions are to be left out.
 */
export async function fileDecider(path: string, options: FileDeciderOptions = {}): Promise<Decider> {
  const { threshold = DEFAULT_THRESHOLD.pAtLeast, skipIncomplete = false } = options;
  const { entries, lines, repeated } = await readEntries(path, threshold);

  const entryOf = (id: string, row: number, loop: number): Entry | undefined =>
    entries
      .get(id)
      ?.get(loop)
      ?.find((one) => one.row === null || one.row === row);
  const missingLoops = (question: { question_id: string; row: number; loops: number }): number[] =>
    Array.from({ length: question.loops }, (_, at) => at + 1).filter((loop) => !entryOf(question.question_id, question.row, loop));

  return {
    name: 'file',
    identity: { decider: 'file', threshold },
    readsClaims: false,
    scan: { threshold: { ...DEFAULT_THRESHOLD, pAtLeast: threshold }, allPairs: false },
    prepare: async (questions) => {
      const used = new Set<Entry>();
      const known = new Set<string>();
      let incomplete = 0;
      let first: { question_id: string; row: number; loops: number; missing: number[] } | undefined;
      for await (const question of questions) {
        known.add(question.question_id);
        for (let loop = 1; loop <= question.loops; loop++) {
          const entry = entryOf(question.question_id, question.row, loop);
          if (entry) used.add(entry);
        }
        const missing = missingLoops(question);
        if (missing.length === 0) continue;
        incomplete++;
        first ??= { ...question, missing };
      }
      if (first && !skipIncomplete) {
        const others =
          incomplete > 1 ? `, and ${incomplete - 1} more ${incomplete === 2 ? 'question is' : 'questions are'} incomplete` : '';
        throw new InputError(
          `no verdict for ${first.missing.length === 1 ? 'loop' : 'loops'} ${first.missing.join(', ')} of ${first.loops}${others}; --skip-incomplete leaves such questions out`,
          { file: path, row: first.row, questionId: first.question_id },
        );
      }
      const unknown = [...entries.keys()].filter((id) => !known.has(id));
      let unused = 0;
      for (const [id, loops] of entries) {
        if (known.has(id)) for (const list of loops.values()) unused += list.filter((one) => !used.has(one)).length;
      }
      const warnings: string[] = [];
      if (unknown.length > 0)
        warnings.push(`${unknown.length} question ids of the verdict file are not in the run, the first ${shown(unknown[0])}`);
      if (unused > 0) warnings.push(`${unused} verdicts are for a row or a loop that the run does not have`);
      if (incomplete > 0) warnings.push(`${incomplete} questions are left out: some of their loops have no verdict`);
      return { counts: { verdict_lines: lines, repeated_lines: repeated, unknown_ids: unknown.length, unused_verdicts: unused }, warnings };
    },
    decide: async ({ trajectory }) => {
      const question = { question_id: trajectory.question_id, row: trajectory.row, loops: trajectory.loops.length };
      const missing = missingLoops(question);
      if (missing.length > 0) {
        if (skipIncomplete) return { excluded: 'incomplete' };
        throw new InputError(`no verdict for loop ${missing[0]} of ${question.loops}`, {
          file: path,
          row: question.row,
          questionId: question.question_id,
        });
      }
      const verdicts = trajectory.loops.map(({ loop }) =>
        loopVerdict(loop, (entryOf(question.question_id, question.row, loop) as Entry).p),
      );
      return { claims: null, verdicts };
    },
  };
}

async function readEntries(path: string, threshold: number): Promise<{ entries: Entries; lines: number; repeated: number }> {
  const entries: Entries = new Map();
  let [lines, repeated] = [0, 0];
  for await (const { line, value } of readJsonLines(path, entrySchema)) {
    lines++;
    const { question_id: id, row = null, loop, covered, p } = value;
    if (p !== undefined && p >= threshold !== covered) {
      throw new InputError(
        `got covered ${covered} with p ${p}, expected covered ${!covered} at the threshold ${threshold}; --threshold sets another`,
        { file: path, line, questionId: id },
      );
    }
    const entry: Entry = { row, covered, p: p ?? (covered ? 1 : 0), line };
    const loops = entries.get(id) ?? new Map<number, Entry[]>();
    entries.set(id, loops);
    const same = loops.get(loop) ?? [];
    loops.set(loop, same);
    const twins = same.filter((one) => one.row === null || row === null || one.row === row);
    const contrary = twins.find((one) => one.p !== entry.p || one.covered !== covered);
    if (contrary) throw new InputError(`contradicts line ${contrary.line} on loop ${loop}`, { file: path, line, questionId: id });
    if (twins.some((one) => one.row === row || one.row === null)) repeated++;
    else same.push(entry);
  }
  if (lines === 0) throw new InputError('no verdict in this file', { file: path });
  return { entries, lines, repeated };
}
