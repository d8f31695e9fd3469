import { LABELS, type Label } from '../core/labels.js';
import type { VerifierFields } from '../core/verifier-fields.js';
import { type ChatEncoder, type FittedPrompt, openChatEncoder } from './chat-encoder.js';
import type { LabelIds } from './label-ids.js';
import { promptSha256, verifierSystem, verifierUser } from './verifier-prompt.js';

/** Turns pairs of claim and sentence into the verifier's token ids. */
export interface VerifierTokens {
  readonly chat: ChatEncoder;
  readonly labelIds: LabelIds<Label>;
  readonly promptSha256: string;
  /**
   * Ids of a pair's prompt. With any of the labels behind it, it is at most `maxLength` long: the evidence sentence's end is cut where it
   * has to be, by the longest label's length whatever the pair's own, so that a cut tells nothing of the label.
   */
  prompt(fields: VerifierFields): FittedPrompt;
  /** The prompt as text, for showing. */
  text(fields: VerifierFields): string;
}

/** Opens the verifier's renderer on a tokenizer's folder. `maxLength` (method.md §4: 512) counts prompt and label. */
export async function openVerifierTokens(folder: string, options: { maxLength: number }): Promise<VerifierTokens> {
  return verifierTokens(await openChatEncoder(folder), options);
}

export function verifierTokens(chat: ChatEncoder, { maxLength }: { maxLength: number }): VerifierTokens {
  const system = verifierSystem();
  const labelIds = chat.labelIds(LABELS);
  const room = maxLength - Math.max(...LABELS.map((label) => labelIds[label].length));
  return {
    chat,
    labelIds,
    promptSha256: promptSha256(),
    prompt: (fields) =>
      chat.encodeWithin(
        fields.evidence_sentence,
        (evidence) => ({ system, user: verifierUser({ ...fields, evidence_sentence: evidence }) }),
        room,
      ),
    text: (fields) => chat.text({ system, user: verifierUser(fields) }),
  };
}
