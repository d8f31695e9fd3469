import type { ReadDocument } from './trajectory.js';

/**
 * The documents of one block of retrieved text, in either of the published layouts:
 *
 *   (1)"Title: T Text: …"          a number counted up from 1; quoted, with quotes doubled, where the text came from a CSV file (R1-Searcher)
 *   Doc 1(Title: "T") …            the same with another head; quotes around the title or none (Search-R1, FlashRAG)
 *
 * Null where the block is in neither; a blank one has no documents.
 */
export function blockDocuments(block: string): ReadDocument[] | null {
  if (block.trim() === '') return [];
  for (const { head, document } of LAYOUTS) {
    const parts = numbered(block, head);
    const documents = parts?.map(document) ?? [null];
    if (documents.every((one) => one !== null)) return documents;
  }
  return null;
}

const LAYOUTS: readonly { head: RegExp; document: (part: string) => ReadDocument | null }[] = [
  { head: /^\((\d+)\)(?=\s*"?Title:)/gm, document: titledDocument },
  { head: /^Doc (\d+)(?=\(Title:)/gm, document: docDocument },
];

/** The parts behind the heads that count up from 1; a number that is not the next one belongs to a text. Null where text stands before them. */
function numbered(block: string, head: RegExp): string[] | null {
  const starts: { from: number; to: number }[] = [];
  for (const match of block.matchAll(head)) {
    if (Number(match[1]) === starts.length + 1) starts.push({ from: match.index, to: match.index + match[0].length });
  }
  const [first] = starts;
  if (!first || block.slice(0, first.from).trim() !== '') return null;
  return starts.map(({ to }, at) => block.slice(to, starts[at + 1]?.from ?? block.length).trim());
}

function titledDocument(part: string): ReadDocument | null {
  const content = part.startsWith('"') ? part.slice(1).replace(/"$/, '').replaceAll('""', '"') : part;
  const [, title, text] = /^Title:(.*?)\s(?:Text:|text:)(.*)$/s.exec(content) ?? [];
  return title === undefined || text === undefined ? null : { title: title.trim(), text: text.trim(), score: 0 };
}

function docDocument(part: string): ReadDocument | null {
  const end = closing(part);
  if (end === null) return null;
  const title = part.slice('(Title:'.length, end).trim();
  return { title: unquoted(title), text: part.slice(end + 1).trim(), score: 0 };
}

/** Where the parenthesis that `part` begins with is closed, on its first line. A quoted title ends behind its quote, whatever stands in it. */
function closing(part: string): number | null {
  const line = part.split('\n', 1)[0] as string;
  if (/^\(Title:\s*"/.test(line)) {
    const end = line.indexOf('")');
    if (end >= 0) return end + 1;
  }
  let depth = 0;
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '(') depth++;
    else if (line[at] === ')' && --depth === 0) return at;
  }
  const end = line.indexOf(')');
  return end < 0 ? null : end;
}

export function unquoted(title: string): string {
  return title.length >= 2 && title.startsWith('"') && title.endsWith('"') ? title.slice(1, -1) : title;
}

/** A passage of a corpus whose first line is its title, in quotes or not (`contents` of pyserini, FlashRAG and Search-R1). */
export function contentsDocument(contents: string, title: string | null, score = 0): ReadDocument {
  if (title !== null) return { title: unquoted(title), text: withoutTitle(contents, title), score };
  const end = contents.indexOf('\n');
  if (end < 0) return { title: '', text: contents.trim(), score };
  return { title: unquoted(contents.slice(0, end).trim()), text: contents.slice(end + 1).trim(), score };
}

/** Where the title stands both in a field and in the first line, it is no part of the text. */
function withoutTitle(contents: string, title: string): string {
  const [first = '', ...rest] = contents.split('\n');
  return rest.length > 0 && unquoted(first.trim()) === unquoted(title) ? rest.join('\n').trim() : contents.trim();
}
