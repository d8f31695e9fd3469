import { join } from 'node:path';
import { InputError, shown } from '../src/core/errors.js';
import { LABELS } from '../src/core/labels.js';
import type { GoldenScores, VerifierExport } from '../src/core/verifier-export.js';
import { type VerifierTokens, openVerifierTokens } from '../src/prompts/index.js';
import { EXPORT_NAME } from './import-files.js';

/**
 * Checks that this version reads and writes prompts as the model was trained: tokenizer, chat template, prompt, labels and their ids, and every
 * golden prompt rendered anew to the same ids. Throws InputError for the first difference, by name.
 */
export async function checkPrompts(
  folder: string,
  made: VerifierExport,
  { golden, maxLength }: { golden: readonly GoldenScores[]; maxLength: number },
): Promise<void> {
  const tokens = await openVerifierTokens(join(folder, 'tokenizer'), { maxLength });
  checkIdentity(folder, made, tokens);
  const file = join(folder, 'golden.jsonl');
  for (const [at, { row, fields, prompt_ids: got }] of golden.entries()) {
    const expected = tokens.prompt(fields).ids;
    const first = firstDifference(got, expected);
    if (first === undefined) continue;
    const part = (ids: readonly number[]): string =>
      first < ids.length ? shown(tokens.chat.tokenizer.decode(ids.slice(first, first + 8))) : 'its end';
    throw new InputError(
      `the prompt was trained as ${got.length} tokens, and is rendered here as ${expected.length}: from token ${first} on it has ${part(got)}, ` +
        `expected ${part(expected)}`,
      { file, line: at + 1, field: `prompt_ids (${row})` },
    );
  }
}

/** Checks that the export's scores are those of the verifier's three labels, in their order. Throws InputError also for a two-way head. */
export function checkLabels(folder: string, { labels }: VerifierExport): void {
  const place = { file: join(folder, EXPORT_NAME), field: 'labels' };
  if (labels.join() === LABELS.join()) return;
  if (labels.toSorted().join() !== LABELS.toSorted().join())
    throw new InputError(
      `got the labels ${labels.join(', ')}, expected ${LABELS.join(', ')}: only a verifier is imported, no two-way head`,
      place,
    );
  throw new InputError(`got the labels ${labels.join(', ')}, expected ${LABELS.join(', ')} in this order`, place);
}

function checkIdentity(folder: string, made: VerifierExport, { chat, labelIds, promptSha256 }: VerifierTokens): void {
  const file = join(folder, EXPORT_NAME);
  const tokenizer = join(folder, 'tokenizer');
  const pairs = [
    ['tokenizer_sha256', chat.tokenizer.sha256, 'the tokenizer is that of another model, or was changed'],
    ['template_sha256', chat.templateSha256, 'the chat template is another one than the model was trained with'],
    ['prompt_sha256', promptSha256, "the model was trained with another prompt than this version's (system message or lines)"],
  ] as const;
  for (const [field, here, why] of pairs) {
    if (made[field] !== here)
      throw new InputError(`${why}: got ${made[field]}, expected ${here}`, { file: field === 'prompt_sha256' ? file : tokenizer, field });
  }
  for (const label of LABELS) {
    const [got, expected] = [made.label_ids[label], labelIds[label]];
    if (shown(got) !== shown(expected))
      throw new InputError(`got ${shown(got)}, expected ${shown(expected)} as the tokenizer encodes ${shown(label)}`, {
        file,
        field: `label_ids.${label}`,
      });
  }
  const extra = Object.keys(made.label_ids).find((one) => !(LABELS as readonly string[]).includes(one));
  if (extra !== undefined)
    throw new InputError(`got a label ${shown(extra)}, expected ${LABELS.join(', ')} only`, { file, field: 'label_ids' });
  if (made.pad_id === made.eos_id)
    throw new InputError(`is ${made.pad_id}, the token that ends a turn: padding would hide it`, { file, field: 'pad_id' });
  for (const [field, expected] of [
    ['pad_id', chat.padId],
    ['eos_id', chat.eosId],
  ] as const) {
    if (made[field] !== expected) throw new InputError(`got ${made[field]}, expected ${expected} as in the tokenizer`, { file, field });
  }
  if (chat.tokenizer.vocabSize > made.vocab_size)
    throw new InputError(`got ${made.vocab_size}, fewer than the tokenizer's ${chat.tokenizer.vocabSize} tokens`, {
      file,
      field: 'vocab_size',
    });
}

function firstDifference(a: readonly number[], b: readonly number[]): number | undefined {
  for (let at = 0; at < Math.max(a.length, b.length); at++) if (a[at] !== b[at]) return at;
  return undefined;
}
