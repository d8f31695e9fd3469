import { shown } from '../core/errors.js';
import { LanguageModelError, type TokenLogprob } from './language-model.js';

/** A token as a server names it. */
export interface ServerToken {
  token: string;
  /** Its UTF-8, which may be a part of a character; null where the server does not say. */
  bytes: readonly number[] | null;
  logprob: number;
  top: readonly { token: string; logprob: number }[];
}

/** Characters that a server's reply may have between two of its tokens: blanks that it left out of their names, parts of one character. */
const LARGEST_GAP = 8;

/**
 * The tokens that make up `text`, each with the part of it that is its own: joined they are the text. A character of several tokens belongs to the
 * last of them. What comes behind the text (the end token, a stop string) is left out.
 */
export function alignedLogprobs(address: string, text: string, tokens: readonly ServerToken[]): TokenLogprob[] {
  const aligned: TokenLogprob[] = [];
  const decoder = new TextDecoder();
  let at = 0;
  for (const one of tokens) {
    if (at === text.length) break;
    const own = one.bytes === null ? one.token : decoder.decode(Uint8Array.from(one.bytes), { stream: true });
    const end = endOf(text, at, own) ?? (one.bytes === null ? endOf(text, at, unmarked(own)) : undefined);
    if (end === undefined)
      throw new LanguageModelError(
        `${address}: log-probabilities of other tokens than those of the reply (${shown(one.token, 40)} where it has ${shown(text.slice(at), 40)})`,
      );
    aligned.push({ token: text.slice(at, end), logprob: one.logprob, top: one.top });
    at = end;
  }
  const last = aligned.at(-1);
  // Blanks at the end that no token named.
  if (last !== undefined && at < text.length && text.slice(at).trim() === '') last.token += text.slice(at);
  else if (at < text.length)
    throw new LanguageModelError(`${address}: log-probabilities of ${tokens.length} tokens, which end before ${shown(text.slice(at), 40)}`);
  return aligned;
}

/** A name as it stands in the vocabulary, with the blanks and line breaks that its first marks stand for. */
function unmarked(name: string): string {
  return name.replace(/^[▁ĠĊ]+/u, (marks) => marks.replace(/[▁Ġ]/gu, ' ').replace(/Ċ/gu, '\n'));
}

function endOf(text: string, at: number, own: string): number | undefined {
  // A part of a character, by itself no text: what follows takes it up.
  if (own === '' || own.includes('\ufffd') || /^<0x[0-9A-Fa-f]{2}>$/.test(own)) return at;
  // A blank that the reply does not have here is none that stands further on.
  if (own.trim() === '' && !text.startsWith(own, at) && text.slice(at).trim() !== '') return at;
  const found = text.indexOf(own, at);
  if (found >= 0 && found - at <= LARGEST_GAP) return found + own.length;
  // The text was cut at a stop string within this token, or its leading blank left out.
  const rest = text.slice(at);
  if (own.startsWith(rest) || own.trimStart().startsWith(rest)) return text.length;
  const bare = own.trimStart();
  return bare !== '' && text.startsWith(bare, at) ? at + bare.length : own.trim() === '' ? at : undefined;
}
