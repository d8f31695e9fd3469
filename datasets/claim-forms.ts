import { InputError, shown } from '../src/core/errors.js';
import type { GoldHop } from '../src/core/gold-hops.js';
import { CLAIM_FORMS, type ClaimForm } from '../src/core/labels.js';
import type { HopRecord } from '../src/core/records.js';
import { normaliseTitle } from '../src/core/text.js';
import { goldClaimText } from './gold-claims.js';

/** Several triples of one claim, which public files hardly have, are one claim text. */
const TRIPLES_JOINED_BY = '; ';

/**
 * The wording of a gold hop in one form (method.md §4), or null where the dataset has none: `sentence` is title and supporting sentence,
 * `triple` "subject relation object", `masked` "the relation of subject". A triple belongs to the hop whose page title equals its subject,
 * or starts with it followed by ` (`.
 */
export function claimForm(record: HopRecord, hop: GoldHop, form: ClaimForm): string | null {
  switch (form) {
    case 'sentence':
      return hop.gold.some(({ page, sentence }) => (record.pages[page]?.sentences[sentence] ?? '').trim() !== '')
        ? goldClaimText(record, hop)
        : null;
    case 'title':
      return hop.title;
    case 'subquestion':
      return hop.subquestion;
    case 'triple':
      return joined(triplesOf(record, hop).map(({ subject, relation, object }) => `${subject} ${relation} ${object}`));
    case 'masked':
      // Two triples that differ in their object alone are the same claim once it is withheld.
      return joined([...new Set(triplesOf(record, hop).map(({ subject, relation }) => `the ${relation} of ${subject}`))]);
  }
}

/** `sentence,masked` as a list in the order of `CLAIM_FORMS`, none twice. Throws InputError for a form that does not exist. */
export function parseForms(text: string): ClaimForm[] {
  const named = text.split(',').map((one) => one.trim());
  const unknown = named.find((one) => !CLAIM_FORMS.includes(one as ClaimForm));
  if (unknown !== undefined) throw new InputError(`--forms: got ${shown(unknown)}, expected a comma list of ${CLAIM_FORMS.join(', ')}`);
  return CLAIM_FORMS.filter((one) => named.includes(one));
}

function triplesOf({ evidences }: HopRecord, { title }: GoldHop): HopRecord['evidences'] {
  const page = normaliseTitle(title);
  return evidences.filter((triple) => {
    const subject = normaliseTitle(triple.subject);
    return subject !== '' && (page === subject || page.startsWith(`${subject} (`));
  });
}

function joined(texts: readonly string[]): string | null {
  return texts.length === 0 ? null : texts.join(TRIPLES_JOINED_BY);
}
