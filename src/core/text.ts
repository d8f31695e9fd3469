import { decodeHTML } from 'entities';

/**
 * The form under which page titles are compared (method.md §3): HTML entities decoded, NFC, white space folded, case kept.
 * Decoding comes first, since an entity may stand for a combining character.
 */
export function normaliseTitle(title: string): string {
  // Most titles are plain already; this spares three passes over each.
  if (/^[!-%'-~]+(?: [!-%'-~]+)*$/.test(title)) return title;
  return foldSpace(decodeHTML(title).normalize('NFC'));
}

/** The form under which sentences count as the same text (method.md §3): NFKC, case folding, no punctuation, white space folded. */
export function normaliseSentence(sentence: string): string {
  // ASCII text, most of it, needs none of Unicode's tables; the class is ASCII's part of \p{P}.
  if (/^[ -~]*$/.test(sentence)) return foldSpace(sentence.toLowerCase().replace(/[!-#%-*,-/:;?@[-\]_{}]+/g, ''));
  return foldSpace(foldCase(sentence.normalize('NFKC')).replace(/\p{P}+/gu, ''));
}

/**
 * Unicode's full case folding, which JavaScript lacks: lower-casing maps ẞ to ß, upper-casing maps ß to SS and ﬁ to FI, lower-casing again
 * brings both members of every pair to one form; final sigma is made plain sigma. Over all code points this makes the same texts equal as
 * Python's `str.casefold`, save dotless ı, which is folded with i, and letters newer than either side's Unicode tables.
 */
export function foldCase(text: string): string {
  return text.toLowerCase().toUpperCase().toLowerCase().replace(/ς/g, 'σ');
}

/** White space of any kind to single spaces, none at the ends. */
export function foldSpace(text: string): string {
  return text.replace(/\s{2,}|[^\S ]/g, ' ').trim();
}

/** Words of a text for lexical comparison: runs of letters, digits and marks, case-folded, in order, repeats kept. */
export function words(text: string): string[] {
  return foldCase(text.normalize('NFKC')).match(/[\p{L}\p{N}\p{M}]+/gu) ?? [];
}
