import { join } from 'node:path';
import { InputError, shown } from '../src/core/errors.js';
import { JOB_ROWS, type JobRow, type VerifierPlan, readJobRows, readVerifierPlan } from '../src/core/verifier-job.js';
import {
  type ChatEncoder,
  equalLabels,
  headContents,
  headPromptSha256,
  openChatEncoder,
  promptSha256,
  verifierSystem,
} from '../src/prompts/index.js';

/** What a job can have wrong, each by its name. */
export const FAULTS = {
  'empty-loss': 'a row whose label is out of the loss teaches nothing',
  'label-truncated': 'the label is not whole in the loss',
  'label-mismatch': 'the loss is not on the row’s own label',
  'end-in-loss': 'the token that ends a turn is in the loss',
  'equal-labels': 'two labels have the same ids',
  'label-ids': 'the label ids are not those of the tokenizer',
  'other-template': 'the rows or the plan belong to another chat template',
  'system-text': 'the system message is not the verifier’s own',
  'other-prompt': 'the plan belongs to another wording of the prompt',
  'other-tokenizer': 'the plan belongs to another tokenizer',
  'pad-is-eos': 'padding and the end of a turn are one token',
  'too-long': 'a row is longer than the setting allows',
  'outside-vocabulary': 'an id that the tokenizer does not have',
  'repeated-row': 'two rows have one name',
  'no-rows': 'no row to train on',
} as const;
export type FaultName = keyof typeof FAULTS;

/** Something that is wrong with a job, and the first place where. */
export interface Fault {
  name: FaultName;
  /** File of the job folder. */
  file: string;
  /** One-based; undefined for the plan. */
  line: number | undefined;
  /** Name of the row. */
  row: string | undefined;
  message: string;
  /** Rows that have it. */
  rows: number;
}

/** Checks a job folder against its own tokenizer and this version's prompt. Returns what is wrong, each fault once, in the order found. */
export async function preflight(job: string): Promise<Fault[]> {
  const plan = await readVerifierPlan(job);
  const chat = await openChatEncoder(join(job, 'tokenizer'));
  const faults = newFaults();
  for (const [name, message] of planFaults(plan, chat)) faults.add(name, message, { file: 'plan.json' });
  const rowFaults = rowChecker(plan, chat);
  const seen = new Set<string>();
  let training = 0;
  for (const file of JOB_ROWS) {
    const own = new Set<string>();
    for await (const { line, row } of readJobRows(job, file)) {
      const place = { file: `${file}.jsonl`, line, row: row.row };
      if (file === 'train') training++;
      // A golden row is a dev row too.
      if (own.has(row.row) || (file !== 'golden' && seen.has(row.row))) faults.add('repeated-row', `got ${shown(row.row)} again`, place);
      own.add(row.row);
      seen.add(row.row);
      for (const [name, message] of rowFaults(row)) faults.add(name, message, place);
    }
  }
  if (training === 0) faults.add('no-rows', FAULTS['no-rows'], { file: 'train.jsonl' });
  return faults.all();
}

/** Throws InputError that names the first fault, and how many others there are; returns where there are none. */
export function refuseFaults(faults: readonly Fault[], job: string): void {
  const [first] = faults;
  if (first === undefined) return;
  const rows = first.rows > 1 ? ` (${first.rows} rows)` : '';
  const others = faults.slice(1).map(({ name }) => name);
  throw new InputError(
    `${first.name}: ${first.row === undefined ? '' : `row ${first.row}: `}${first.message}${rows}${others.length > 0 ? `; also ${others.join(', ')}` : ''}`,
    { file: join(job, first.file), line: first.line },
  );
}

type Found = readonly [name: FaultName, message: string];

/** What is wrong with a plan as a whole, for its tokenizer. */
export function* planFaults(plan: VerifierPlan, chat: ChatEncoder): Generator<Found> {
  if (plan.pad_id === plan.eos_id) yield ['pad-is-eos', `pad_id and eos_id are both ${plan.pad_id}: ${FAULTS['pad-is-eos']}`];
  if (plan.tokenizer_sha256 !== chat.tokenizer.sha256)
    yield ['other-tokenizer', differing('tokenizer_sha256', plan.tokenizer_sha256, chat.tokenizer.sha256, 'tokenizer/tokenizer.json')];
  if (plan.template_sha256 !== chat.templateSha256)
    yield ['other-template', differing('template_sha256', plan.template_sha256, chat.templateSha256, 'the template in tokenizer/')];
  const prompt = plan.task === 'labels' ? promptSha256() : headPromptSha256(plan.task);
  if (plan.prompt_sha256 !== prompt)
    yield ['other-prompt', differing('prompt_sha256', plan.prompt_sha256, prompt, 'the prompt of this version')];
  if (plan.task !== 'labels') return;
  const same = equalLabels(plan.label_ids);
  if (same !== undefined)
    yield ['equal-labels', `labels ${shown(same[0])} and ${shown(same[1])} both have ids ${shown(plan.label_ids[same[0]])}`];
  for (const label of plan.labels) {
    const ids = plan.label_ids[label] ?? [];
    const text = chat.tokenizer.decode(ids);
    if (text !== label) yield ['label-ids', `the ids ${shown(ids)} of ${shown(label)} read ${shown(text)}`];
  }
}

/** The check of one row: what it teaches, and that its prompt is the one that will be served. */
export function rowChecker(plan: VerifierPlan, chat: ChatEncoder): (row: JobRow) => Generator<Found> {
  const { before, behind } = chat.frame(
    plan.task === 'labels' ? verifierSystem() : headContents(plan.task, { question: '', evidence: [] }, '').system,
  );
  const control = new Set(chat.tokenizer.added.map(({ id }) => id));
  const skeleton = (ids: readonly number[]): string => ids.filter((id) => control.has(id)).join(' ');
  const expected = skeleton([...before, ...behind]);
  const wanted = { before: before.join(' '), behind: behind.join(' ') };
  return function* (row) {
    const [start, end] = row.loss;
    const outside = row.ids.find((id) => id >= plan.vocab_size);
    if (outside !== undefined) yield ['outside-vocabulary', `got id ${outside}, expected one below ${plan.vocab_size}`];
    if (row.ids.length > plan.settings.max_length)
      yield ['too-long', `${row.ids.length} tokens, expected at most ${plan.settings.max_length}`];
    if (plan.task === 'labels') yield* lossFaults(row, plan, chat);
    const prompt = plan.task === 'labels' && start < end ? row.ids.slice(0, start) : row.ids;
    if (skeleton(prompt) !== expected)
      yield ['other-template', `its control tokens are ${skeleton(prompt) || 'none'}, expected ${expected}: ${FAULTS['other-template']}`];
    else if (prompt.slice(0, before.length).join(' ') !== wanted.before)
      yield [
        'system-text',
        `before the user turn it reads ${shown(chat.tokenizer.decode(prompt.slice(0, before.length)), 120)}: ${FAULTS['system-text']}`,
      ];
    else if ((start < end || plan.task !== 'labels') && prompt.slice(-behind.length).join(' ') !== wanted.behind)
      yield ['other-template', `it does not end with the template's start of the answer: ${FAULTS['other-template']}`];
  };
}

function* lossFaults(row: JobRow, plan: VerifierPlan, chat: ChatEncoder): Generator<Found> {
  const [start, end] = row.loss;
  if (start >= end) {
    yield ['empty-loss', `no token is in its loss: ${FAULTS['empty-loss']}`];
    return;
  }
  const learned = row.ids.slice(start, end);
  const label = String(row.label);
  if (learned.includes(plan.eos_id)) yield ['end-in-loss', `id ${plan.eos_id} is learned: ${FAULTS['end-in-loss']}`];
  const text = chat.tokenizer.decode(learned);
  if (text === label && end === row.ids.length) return;
  const truncated = text === label || label.startsWith(text) || learned.length < end - start;
  yield truncated
    ? ['label-truncated', `the loss reads ${shown(text)} of the label ${shown(label)}${text === label ? ', and tokens follow it' : ''}`]
    : ['label-mismatch', `the loss reads ${shown(text)}, expected ${shown(label)}`];
}

function differing(field: string, got: string, expected: string, of: string): string {
  return `got ${field} ${got}, expected ${expected} as of ${of}`;
}

function newFaults(): {
  add(name: FaultName, message: string, place: { file: string; line?: number; row?: string }): void;
  all(): Fault[];
} {
  const found = new Map<FaultName, Fault>();
  return {
    add: (name, message, { file, line, row }) => {
      const known = found.get(name);
      if (known === undefined) found.set(name, { name, file, line, row, message, rows: 1 });
      else known.rows++;
    },
    all: () => [...found.values()],
  };
}
