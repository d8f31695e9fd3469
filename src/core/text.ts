import { decodeHTML } from 'entities';

/**
 * The form under which page titles are compared (method.md §3): HTML entities decoded, NFC, white space folded, case kept.
 * Decoding comes first, since an entity may stand for a combining character.
 */
export function normaliseTitle(title: string): string {
  return foldSpace(decodeHTML(title).normalize('NFC'));
}

/** The form under which sentences count as the same text (method.md §3): NFKC, case folding, no punctuation, white space folded. */
export function normaliseSentence(sentence: string): string {
  return foldSpace(foldCase(sentence.normalize('NFKC')).replace(/\p{P}+/gu, ''));
}

/**
 * Case folding close to Unicode's full folding, which JavaScript lacks: upper-casing first maps ß to SS and ﬁ to FI, lower-casing then
 * maps both members of a pair to one form; final sigma is made plain sigma.
 */
export function foldCase(text: string): string {
  return text.toUpperCase().toLowerCase().replace(/ς/g, 'σ');
}

/** White space of any kind to single spaces, none at the ends. */
export function foldSpace(text: string): string {
  return text.replace(/\s+/gu, ' ').trim();
}

/** Words of a text for lexical comparison: runs of letters, digits and marks, case-folded, in order, repeats kept. */
export function words(text: string): string[] {
  return foldCase(text.normalize('NFKC')).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}
