import { InputError, shown } from '../core/errors.js';
import type { LabelRow } from '../core/labels.js';
import { questionKey } from '../core/question-key.js';
import { random } from '../core/random.js';
import { type VerifierFields, fieldsOf } from '../core/verifier-fields.js';

/** One change of what a verifier reads; the rows and their labels stay (method.md §4, ablations). */
export interface Ablation {
  /** As tables name it. */
  name: string;
  fields: (row: LabelRow) => VerifierFields;
}

export interface AblationWishes {
  /** The expected target's text is masked wherever it stands. */
  maskTarget: boolean;
  /** Fields whose line is left empty, each in an ablation of its own. */
  drop: readonly (keyof VerifierFields)[];
  lowerCase: boolean;
  shuffleWords: boolean;
  /** The claim of another question: with its page, or with the row's own page kept. */
  randomClaim: readonly ('other-page' | 'keep-page')[];
}

/** What stands in place of a masked target (**choice**). */
const MASK = '[MASK]';

/** The ablations that are wished for, drawn by the seed. Throws InputError where there is no other question to take a claim from. */
export function ablations(rows: readonly LabelRow[], wishes: AblationWishes, seed: number): Ablation[] {
  return [
    ...(wishes.maskTarget ? [{ name: 'target masked', fields: masked }] : []),
    ...wishes.drop.map((field) => ({
      name: `no ${field.replaceAll('_', ' ')}`,
      fields: (row: LabelRow): VerifierFields => ({ ...fieldsOf(row), [field]: '' }),
    })),
    ...(wishes.lowerCase
      ? [
          {
            name: 'sentence in lower case',
            fields: (row: LabelRow): VerifierFields => ({ ...fieldsOf(row), evidence_sentence: row.evidence_sentence.toLowerCase() }),
          },
        ]
      : []),
    ...(wishes.shuffleWords
      ? [
          {
            name: 'words shuffled',
            fields: (row: LabelRow): VerifierFields => ({ ...fieldsOf(row), evidence_sentence: shuffled(row, seed) }),
          },
        ]
      : []),
    ...wishes.randomClaim.map((kind) => randomClaim(rows, kind, seed)),
  ];
}

function masked(row: LabelRow): VerifierFields {
  const target = row.expected_target.trim();
  if (target === '') return fieldsOf(row);
  const pattern = new RegExp(target.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`), 'giu');
  const entries = Object.entries(fieldsOf(row)).map(([field, text]) => [field, text.replaceAll(pattern, MASK)]);
  return Object.fromEntries(entries) as VerifierFields;
}

/** The sentence's words in an order that depends on the sentence's place alone. */
function shuffled(row: LabelRow, seed: number): string {
  const draw = random(seed, 'shuffle-words', row.dataset, row.row, row.page_index, row.sentence_index);
  return draw.shuffle(row.evidence_sentence.split(/\s+/)).join(' ');
}

function randomClaim(rows: readonly LabelRow[], kind: 'other-page' | 'keep-page', seed: number): Ablation {
  const donors = new Map<string, LabelRow[]>();
  const seen = new Set<string>();
  for (const row of rows) {
    const group = `${row.dataset}/${row.form}`;
    const claim = `${group}/${questionKey(row)}/${row.claim}`;
    if (seen.has(claim)) continue;
    seen.add(claim);
    donors.set(group, [...(donors.get(group) ?? []), row]);
  }
  const donorOf = (row: LabelRow): LabelRow => {
    const others = (donors.get(`${row.dataset}/${row.form}`) ?? []).filter((one) => questionKey(one) !== questionKey(row));
    if (others.length === 0)
      throw new InputError(`--random-claim: no other question of ${row.dataset} ${shown(row.form)} to take a claim from`);
    return others[random(seed, 'random-claim', row.dataset, row.form, row.row, row.claim).int(others.length)] as LabelRow;
  };
  return {
    name: kind === 'keep-page' ? 'random claim, page kept' : 'random claim',
    fields: (row) => {
      const { question, evidence_page, evidence_sentence, expected_page } = fieldsOf(row);
      const other = fieldsOf(donorOf(row));
      return { ...other, question, evidence_page, evidence_sentence, ...(kind === 'keep-page' && { expected_page }) };
    },
  };
}
