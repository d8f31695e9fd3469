/** Ends of a line as evidence has them: after none of them may the line break be read as one with the next line's first letter. */
const LINE_ENDS = [
  '',
  'word',
  'word.',
  '"word."',
  '12',
  '1.',
  '(a)',
  '—',
  '…',
  '東京',
  'é',
  'e\u0301',
  '🙂',
  '\u200d',
  '\u0000',
  "it's",
  '<|im_end|>',
];
/** Lines that are kept: a claim's and a question's come again with every sentence. */
const KEPT = 4096;

/**
 * Encodes text of several lines line by line and keeps what it has seen, so that the lines which prompts share are read once. A line ends
 * at a single line break before an ASCII letter. Whether the tokenizer always begins anew there is tried on known line ends; where it does
 * not, the text is encoded whole.
 */
export function lineEncoder(encode: (text: string) => readonly number[]): (text: string) => readonly number[] {
  const anew = LINE_ENDS.every((end) => {
    const [first, second] = [`Name: ${end}\n`, 'Line: b'];
    return same(encode(first + second), [...encode(first), ...encode(second)]);
  });
  if (!anew) return encode;
  const kept = new Map<string, readonly number[]>();
  return (text) =>
    text.split(/(?<=\S\n)(?=[A-Za-z])/).flatMap((line) => {
      const known = kept.get(line);
      if (known !== undefined) return known;
      const ids = encode(line);
      if (kept.size >= KEPT) kept.clear();
      kept.set(line, ids);
      return ids;
    });
}

function same(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((id, at) => id === b[at]);
}
