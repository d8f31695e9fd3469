import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { refuseAfterLoop } from '../src/core/after-loop.js';
import { type Claim, type ClaimSource, type ClaimText, claimColumns, claimText, defaultClaimText } from '../src/core/claims.js';
import { InputError, shown } from '../src/core/errors.js';
import { readLines } from '../src/core/jsonl.js';
import { readManifest } from '../src/core/manifest.js';
import { questionKey } from '../src/core/question-key.js';
import { readTable } from '../src/core/tables.js';

/** One training question: its text and the texts of its claims in claim order, at least one and none of them empty. */
export interface ClaimQuestion {
  question: string;
  claims: string[];
}

/** A line or question that is not trained on. */
export interface SetAside {
  action: 'skipped';
  row: number;
  line: number | null;
  question_id: string | null;
  reason: 'bad_json' | 'bad_field' | 'no_claims';
  field: string | null;
  detail: string;
}

export interface ClaimQuestions {
  questions: ClaimQuestion[];
  setAside: SetAside[];
  /** Claims left out because their text is empty. */
  emptyClaims: number;
  /** Questions whose id stood before; they are trained on all the same. */
  repeatedIds: number;
  source: ClaimSource | 'unstated';
  claimText: ClaimText | null;
  claimField: string | null;
  /** The file that was read. */
  input: string;
}

export interface ClaimQuestionsOptions {
  /** Which text of a claims folder's claims. Default: that of their source (core's `defaultClaimText`). */
  claimText?: ClaimText | undefined;
  /** Where JSON lines hold the list of claims. Default `claims`. */
  field?: string | undefined;
  /** Where the claims of JSON lines came from; a claims folder says so itself. */
  source?: ClaimSource | undefined;
}

/**
 * Reads questions with claims from a claims folder, or from JSON lines `{question_id?, question, claims[]}` (other fields are ignored). A bad line is
 * set aside. Throws InputError when the path is neither, or holds no usable question.
 */
export async function readClaimQuestions(path: string, options: ClaimQuestionsOptions = {}): Promise<ClaimQuestions> {
  const kind = await stat(path).then(
    (entry) => (entry.isDirectory() ? 'folder' : 'file'),
    () => 'nothing',
  );
  if (kind === 'nothing') throw new InputError('no such file or folder', { file: path });
  const read = await (kind === 'folder' ? fromFolder(path, options) : fromLines(path, options));
  if (read.questions.length === 0) {
    const first = read.setAside[0];
    throw new InputError(`holds no question with claims${first ? ` (the first was set aside: ${first.detail})` : ''}`, { file: path });
  }
  return read;
}

async function fromFolder(folder: string, options: ClaimQuestionsOptions): Promise<ClaimQuestions> {
  for (const name of ['field', 'source'] as const) {
    if (options[name] !== undefined) throw new InputError(`--${name} is for JSON lines; a claims folder says it itself`, { file: folder });
  }
  const manifest = await readManifest(folder, 'claims');
  refuseAfterLoop(folder, manifest);
  const questions = new Map<string, { at: Claim; question: string; claims: string[] }>();
  let [source, emptyClaims]: [ClaimSource | undefined, number] = [undefined, 0];
  let text: ClaimText | undefined;
  for await (const claim of readTable(folder, manifest, 'claims', claimColumns)) {
    source ??= claim.source;
    if (claim.source !== source) {
      throw new InputError(`got claims of the sources ${source} and ${claim.source}, expected one`, { file: folder, row: claim.row });
    }
    text ??= options.claimText ?? defaultClaimText(source);
    const key = questionKey(claim);
    const own = questions.get(key) ?? { at: claim, question: claim.question, claims: [] };
    questions.set(key, own);
    const content = claimText(claim, text);
    if (content.trim() === '') emptyClaims++;
    else own.claims.push(content);
  }
  const all = [...questions.values()];
  const blank = (one: { question: string }): boolean => one.question.trim() === '';
  const used = (one: { question: string; claims: string[] }): boolean => one.claims.length > 0 && !blank(one);
  const usable = all.filter(used);
  return {
    questions: usable.map(({ question, claims }) => ({ question, claims })),
    setAside: all
      .filter((one) => !used(one))
      .map((one) => {
        const { row, question_id } = one.at;
        const place = { action: 'skipped', row, line: null, question_id } as const;
        return blank(one)
          ? { ...place, reason: 'bad_field', field: 'question', detail: 'the question is blank' }
          : { ...place, reason: 'no_claims', field: null, detail: 'every claim text is empty' };
      }),
    emptyClaims,
    repeatedIds: usable.length - new Set(usable.map((one) => one.at.question_id)).size,
    source: source ?? 'unstated',
    claimText: text ?? null,
    claimField: null,
    input: join(folder, manifest.outputs.find((one) => one.name.startsWith('claims.'))?.name ?? 'claims.arrow'),
  };
}

async function fromLines(file: string, options: ClaimQuestionsOptions): Promise<ClaimQuestions> {
  if (options.claimText !== undefined) {
    throw new InputError('--claim-text is for a claims folder; JSON lines hold the texts themselves, --field names their list', { file });
  }
  const field = options.field ?? 'claims';
  const schema = z.object({
    question_id: z.string().optional(),
    question: z.string().refine((one) => one.trim() !== '', 'the question is blank'),
    [field]: z.array(z.string()),
  });
  const read: ClaimQuestions = {
    questions: [],
    setAside: [],
    emptyClaims: 0,
    repeatedIds: 0,
    source: options.source ?? 'unstated',
    claimText: null,
    claimField: field,
    input: file,
  };
  const ids = new Set<string>();
  let row = -1;
  for await (const { line, text } of readLines(file)) {
    row++;
    const aside = (reason: SetAside['reason'], where: string | null, detail: string, id: string | null = null): void => {
      read.setAside.push({ action: 'skipped', row, line, question_id: id, reason, field: where, detail });
    };
    let value: unknown;
    try {
      value = JSON.parse(text);
    } catch {
      aside('bad_json', null, `got ${shown(text, 60)}, expected one JSON object`);
      continue;
    }
    const parsed = schema.safeParse(value);
    if (!parsed.success) {
      const issue = parsed.error.issues[0];
      const where = issue?.path.join('.') ?? null;
      const names = value !== null && typeof value === 'object' ? Object.keys(value).join(', ') : typeof value;
      const hint = where === field ? `; the line has ${names}, and --field names the list of claims` : '';
      aside('bad_field', where, `line ${line}, field ${where ?? ''}: ${issue?.message ?? 'invalid'}${hint}`);
      continue;
    }
    const { question, question_id: id = null } = parsed.data as { question: string; question_id?: string };
    const claims = (parsed.data as unknown as { [name: string]: string[] })[field] as string[];
    const texts = claims.filter((one) => one.trim() !== '');
    read.emptyClaims += claims.length - texts.length;
    if (texts.length === 0) aside('no_claims', field, `line ${line}: the list of claims has no text`, id);
    else {
      read.questions.push({ question, claims: texts });
      if (id !== null && ids.has(id)) read.repeatedIds++;
      else if (id !== null) ids.add(id);
    }
  }
  return read;
}
