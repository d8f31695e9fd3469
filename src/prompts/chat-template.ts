import { Template } from '@huggingface/jinja';
import { InputError } from '../core/errors.js';
import type { AddedToken, TextTokenizer } from './tokenizer.js';

/** A piece of a rendered chat: an added token, or text in which the two contents stand as slots. */
export type ChatPart = { readonly token: AddedToken } | { readonly text: readonly (string | ChatSlot)[] };
export interface ChatSlot {
  readonly slot: 'system' | 'user';
}

/** Words that stand for the contents while the template is rendered: no white space to trim, nothing that a template looks for. */
const STAND_INS = [
  ['system', 'HopgateSystemContent'],
  ['user', 'HopgateUserContent'],
] as const;

/**
 * What a tokenizer's chat template makes of a system message, a user turn and the start of the answer, with the two contents left open.
 * Contents are filled in afterwards, so nothing in them can act on the template or be taken for one of its tokens. Throws InputError for
 * a template that drops or repeats a content, lets the user turn run into the answer without a control token, or asks for the date.
 */
export function chatSkeleton(tokenizer: TextTokenizer): ChatPart[] {
  const text = rendered(tokenizer);
  for (const [role, word] of STAND_INS) {
    const times = text.split(word).length - 1;
    if (times !== 1) throw new InputError(`the chat template writes the ${role} message ${times} times, expected once`);
  }
  const parts = splitAtTokens(text, tokenizer.added).map((part) => (typeof part === 'string' ? { text: withSlots(part) } : part));
  const user = parts.findIndex((part) => 'text' in part && part.text.some((one) => typeof one !== 'string' && one.slot === 'user'));
  if (!parts.slice(user + 1).some((part) => 'token' in part))
    throw new InputError('the chat template ends the user turn without a control token: evidence could write the end of its own turn');
  return parts;
}

/**
 * What a chat template makes of messages with these roles and the start of the answer: its own text, and the place of each message's content as the
 * message's index. A model that can think aloud is told not to (`enable_thinking`). Throws InputError as `chatSkeleton` does.
 */
export function chatLayout(template: string, roles: readonly string[], named: { bos: string; eos: string }): (string | number)[] {
  const words = roles.map((_, at) => `HopgateContent${at}Ends`);
  const text = renderedMessages(
    template,
    roles.map((role, at) => ({ role, content: words[at] as string })),
    { bos_token: named.bos, eos_token: named.eos, enable_thinking: false },
  );
  for (const [at, word] of words.entries()) {
    const times = text.split(word).length - 1;
    if (times !== 1) throw new InputError(`the chat template writes message ${at + 1} (${roles[at]}) ${times} times, expected once`);
  }
  return text
    .split(/HopgateContent(\d+)Ends/)
    .map((piece, at) => (at % 2 === 1 ? Number(piece) : piece))
    .filter((piece) => piece !== '');
}

/** The chat as text, as a template renders it; for showing, never for encoding. */
export function chatText(skeleton: readonly ChatPart[], contents: { system: string; user: string }): string {
  return skeleton.map((part) => ('token' in part ? part.token.content : filled(part.text, contents))).join('');
}

/** The text of one part with the contents in their slots. */
export function filled(text: readonly (string | ChatSlot)[], contents: { system: string; user: string }): string {
  return text.map((one) => (typeof one === 'string' ? one : contents[one.slot])).join('');
}

function rendered({ template, named }: TextTokenizer): string {
  return renderedMessages(
    template,
    STAND_INS.map(([role, word]) => ({ role, content: word })),
    { bos_token: named.bos ?? '', eos_token: named.eos ?? '', pad_token: named.pad ?? '', unk_token: named.unk ?? '' },
  );
}

function renderedMessages(
  template: string,
  messages: readonly { role: string; content: string }[],
  variables: { [name: string]: string | boolean },
): string {
  if (template.includes('strftime_now') && !template.includes('date_string'))
    throw new InputError('the chat template writes the date of the day (strftime_now), so a prompt would change overnight');
  try {
    return new Template(template).render({
      messages,
      add_generation_prompt: true,
      ...variables,
      // Llama 3.x prints a date: this one where it is told none and has no clock.
      date_string: '26 Jul 2024',
    });
  } catch (error) {
    const roles = messages.map(({ role }) =>
      role === 'system' ? 'a system message' : `${role === 'user' ? 'a user' : 'an assistant'} turn`,
    );
    throw new InputError(`the chat template cannot be rendered with ${roles.join(' and ')} (${(error as Error).message})`);
  }
}

/** Leftmost first, of those that begin at one place the longest: how a tokenizer finds its added tokens. */
function splitAtTokens(text: string, added: readonly AddedToken[]): (string | { token: AddedToken })[] {
  const byContent = new Map(added.map((token) => [token.content, token]));
  if (byContent.size === 0) throw new InputError('the tokenizer has no added tokens, expected the control tokens of its chat template');
  const alternatives = [...byContent.keys()].toSorted((a, b) => b.length - a.length).map(escaped);
  return text
    .split(new RegExp(`(${alternatives.join('|')})`))
    .filter((piece) => piece !== '')
    .map((piece) => {
      const token = byContent.get(piece);
      return token === undefined ? piece : { token };
    });
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\/-]/g, String.raw`\$&`);
}

function withSlots(text: string): (string | ChatSlot)[] {
  return text
    .split(new RegExp(`(${STAND_INS.map(([, word]) => word).join('|')})`))
    .filter((piece) => piece !== '')
    .map((piece) => {
      const found = STAND_INS.find(([, word]) => word === piece);
      return found === undefined ? piece : { slot: found[0] };
    });
}
