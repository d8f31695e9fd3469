/** One word of a POSIX shell that stands for exactly this text; left as it is where no character has a meaning. */
export function shellWord(text: string): string {
  return /^[\w./:=@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
