import { InputError } from '../core/errors.js';
import { sha256 } from '../core/hash.js';
import { type ChatPart, chatSkeleton, chatText, filled } from './chat-template.js';
import { type LabelIds, labelIds } from './label-ids.js';
import { lineEncoder } from './line-encoder.js';
import { type TextTokenizer, openTextTokenizer } from './tokenizer.js';

export interface ChatContents {
  system: string;
  user: string;
}

/** One prompt's ids, and how much of its evidence had to go. */
export interface FittedPrompt {
  ids: number[];
  /** Code points that were cut from the end of the evidence; 0 where all of it fits. */
  cut: number;
}

/** Renders and encodes chats of one system message and one user turn: the same for training and for serving. */
export interface ChatEncoder {
  readonly tokenizer: TextTokenizer;
  readonly templateSha256: string;
  readonly eosId: number;
  /** Never `eosId`. */
  readonly padId: number;
  /** Why `padId` is not the tokenizer's own, in words. */
  readonly padNote: string | undefined;
  /** Ids of the prompt: template, system message, user turn and the start of the answer. */
  encode(contents: ChatContents): number[];
  /**
   * As `encode`, of the contents that `contents` makes of the evidence; where that takes more than `most` ids, the end of the evidence is
   * cut, and nothing else. Throws InputError when the rest alone is longer.
   */
  encodeWithin(evidence: string, contents: (evidence: string) => ChatContents, most: number): FittedPrompt;
  /** The ids before and behind the part with the user turn, which are the same in every prompt of this system message. */
  frame(system: string): { before: number[]; behind: number[] };
  /** Ids of answers that follow the prompt. */
  labelIds<const L extends string>(labels: readonly L[]): LabelIds<L>;
  /** The chat as text, for showing. */
  text(contents: ChatContents): string;
}

/** Opens a tokenizer's folder. Throws InputError where the tokenizer or its chat template cannot serve (see those). */
export async function openChatEncoder(folder: string): Promise<ChatEncoder> {
  const tokenizer = await openTextTokenizer(folder);
  return chatEncoder(tokenizer, folder);
}

function chatEncoder(tokenizer: TextTokenizer, folder: string): ChatEncoder {
  const skeleton = chatSkeleton(tokenizer);
  const encodeText = lineEncoder((text) => tokenizer.encode(text));
  const encodePart = (part: ChatPart, at: number, contents: ChatContents): readonly number[] => {
    if ('token' in part) return [part.token.id];
    const [before, after] = [skeleton[at - 1], skeleton[at + 1]];
    let text = filled(part.text, contents);
    if (before && 'token' in before && before.token.rstrip) text = text.trimStart();
    if (after && 'token' in after && after.token.lstrip) text = text.trimEnd();
    return encodeText(text);
  };
  const encode = (contents: ChatContents): number[] => skeleton.flatMap((part, at) => encodePart(part, at, contents));
  const last = skeleton.at(-1) as ChatPart;
  return {
    tokenizer,
    templateSha256: sha256(tokenizer.template),
    ...padding(tokenizer, skeleton, folder),
    encode,
    encodeWithin: (evidence, contents, most) => fitted(evidence, (part) => encode(contents(part)), most),
    frame: (system) => {
      const user = skeleton.findIndex((part) => 'text' in part && part.text.some((one) => typeof one !== 'string' && one.slot === 'user'));
      const ids = skeleton.map((part, at) => (at === user ? [] : encodePart(part, at, { system, user: '' })));
      return { before: ids.slice(0, user).flat(), behind: ids.slice(user + 1).flat() };
    },
    labelIds: (labels) =>
      labelIds(labels, 'token' in last ? '' : filled(last.text, { system: '', user: '' }), (text) => tokenizer.encode(text)),
    text: (contents) => chatText(skeleton, contents),
  };
}

function fitted(evidence: string, encode: (evidence: string) => number[], most: number): FittedPrompt {
  const whole = encode(evidence);
  if (whole.length <= most) return { ids: whole, cut: 0 };
  const points = Array.from(evidence);
  const bare = encode('');
  if (bare.length > most)
    throw new InputError(`the prompt takes ${bare.length} tokens without its evidence, expected at most ${most} (a longer --max-length)`);
  let [fits, ids, tooMany] = [0, bare, points.length];
  while (fits + 1 < tooMany) {
    const middle = Math.floor((fits + tooMany) / 2);
    const tried = encode(points.slice(0, middle).join(''));
    if (tried.length <= most) [fits, ids] = [middle, tried];
    else tooMany = middle;
  }
  return { ids, cut: points.length - fits };
}

/** A token that pads must never be the one that ends a turn: its loss and its attention would be masked with the padding's. */
function padding(
  { added, named }: TextTokenizer,
  skeleton: readonly ChatPart[],
  folder: string,
): Pick<ChatEncoder, 'eosId' | 'padId' | 'padNote'> {
  const idOf = (content: string | null): number | undefined => added.find((token) => token.content === content)?.id;
  const eosId = idOf(named.eos);
  if (eosId === undefined)
    throw new InputError(`got eos_token ${JSON.stringify(named.eos)}, expected one of the tokenizer's added tokens`, { file: folder });
  const used = new Set(skeleton.flatMap((part) => ('token' in part ? [part.token.id] : [])));
  const own = idOf(named.pad);
  if (own !== undefined && own !== eosId) return { eosId, padId: own, padNote: undefined };
  const other = added.find((token) => token.special && token.id !== eosId && !used.has(token.id));
  if (other === undefined)
    throw new InputError(
      `got pad_token ${JSON.stringify(named.pad)} beside eos_token ${JSON.stringify(named.eos)}, and no other special token to pad with`,
      { file: folder },
    );
  const why = named.pad === null ? 'names no padding token' : `pads with ${JSON.stringify(named.pad)}, the token that ends a turn`;
  return { eosId, padId: other.id, padNote: `the tokenizer ${why}; ${JSON.stringify(other.content)} pads instead` };
}
