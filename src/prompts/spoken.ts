/**
 * A reply without what a reasoning model thinks aloud, and without the markers of its template. A thought that is cut off is the rest of the
 * reply; one that the prompt began has no opening mark.
 */
export function spoken(reply: string): string {
  const said = reply.replace(/<think>[^]*?(?:<\/think>|$)/g, '');
  const end = said.lastIndexOf(THOUGHT_END);
  return (end < 0 ? said : said.slice(end + THOUGHT_END.length)).replace(/<\|[^|<>]{0,40}\|>|<\/?s>/g, '').trim();
}

const THOUGHT_END = '</think>';
