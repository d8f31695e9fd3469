import {
  type Encoder,
  type Hypothesis,
  type LiveDecider,
  type Policy,
  liveHeadDecider,
  liveJudgeDecider,
  liveNliDecider,
  liveSmallDecider,
  liveVerifierDecider,
  openHead,
  openNliModel,
  openSmallVerifier,
  readSmallVerifier,
  sharedEncoder,
} from '../../runtime/index.js';
import { type EncoderIdentity, sameEncoderField } from '../core/embeddings.js';
import { InputError } from '../core/errors.js';
import type { JudgeReads } from '../prompts/index.js';
import type { CommonFlags, Terminal } from './command.js';
import { encoderOf } from './encoder-flags.js';
import type { LanguageModel } from '../llm/index.js';
import type { LlmFlags } from './llm-flags.js';
import { numberIn, wholeNumber } from './number-flags.js';
import { type VerifierFlags, verifierOf } from './verifier-flags.js';

/** Deciders that can be asked in a running agent; `host`: the agent asks its own. */
export const LIVE_DECIDERS = ['host', 'small', 'verifier', 'judge', 'nli', 'stoprag', 'simrag'] as const;
export type LiveDeciderName = (typeof LIVE_DECIDERS)[number];

export interface LiveDeciderFlags extends VerifierFlags, LlmFlags {
  decider: LiveDeciderName;
  model?: string;
  threshold?: number;
  'judge-reads'?: JudgeReads;
  'allow-wrong-polarity'?: boolean;
  hypothesis?: Hypothesis;
}

/** Opens the decider that the flags name; what it opened is added to `opened`, for the caller to close. Throws InputError. */
export async function liveDecider(
  flags: LiveDeciderFlags & CommonFlags,
  {
    encoder,
    languageModel,
    policy,
    opened,
    terminal,
  }: {
    encoder: Encoder;
    languageModel: () => Promise<LanguageModel>;
    policy: Policy;
    opened: { close(): Promise<void> }[];
    terminal: Terminal;
  },
): Promise<LiveDecider | 'host'> {
  const threshold = flags.threshold === undefined ? undefined : numberIn('threshold', flags.threshold, [Number.MIN_VALUE, 1]);
  const { provider } = flags;
  const threads = flags.threads === undefined ? undefined : wholeNumber('threads', flags.threads);
  switch (flags.decider) {
    case 'host':
      return 'host';
    case 'small': {
      const model = modelOf(flags, 'the folder of a small verifier');
      const { details } = await readSmallVerifier(model);
      const verifier = await openSmallVerifier(model, await encoderLike(details.encoder, { encoder, flags, opened }));
      opened.push(verifier);
      return liveSmallDecider(verifier, { policy });
    }
    case 'verifier': {
      const verifier = await verifierOf(flags, modelOf(flags, 'the folder or name of a verifier'), terminal);
      opened.push(verifier);
      return liveVerifierDecider(verifier, { policy, ...(flags.server !== undefined && { lookAhead: Number.MAX_SAFE_INTEGER }) });
    }
    case 'judge': {
      const judge = liveJudgeDecider(await languageModel(), {
        threshold,
        reads: flags['judge-reads'] ?? 'sentences',
        allowWrongPolarity: flags['allow-wrong-polarity'],
      });
      for (const warning of (await judge.prepare()).warnings) terminal.warn(warning);
      return judge;
    }
    case 'nli': {
      const model = await openNliModel(modelOf(flags, 'the folder of a sequence classifier'), { provider, threads });
      opened.push(model);
      return liveNliDecider(model, { threshold, hypothesis: flags.hypothesis, policy });
    }
    case 'stoprag':
    case 'simrag': {
      const head = await openHead(modelOf(flags, 'the export folder of a trained head'), flags.decider, { provider, threads });
      opened.push(head);
      return liveHeadDecider(head, { threshold });
    }
  }
}

/** The margin's encoder where the small verifier was trained on it, else the one that it was trained on. */
async function encoderLike(
  wanted: EncoderIdentity,
  { encoder, flags, opened }: { encoder: Encoder; flags: CommonFlags; opened: { close(): Promise<void> }[] },
): Promise<Encoder> {
  const fields = Object.keys(wanted) as (keyof EncoderIdentity)[];
  if (fields.every((field) => sameEncoderField(field, wanted[field], encoder.identity[field]))) return encoder;
  const own = sharedEncoder(await encoderOf({ ...flags, ...OTHER_ENCODERS }, wanted.name));
  opened.push(own);
  return own;
}

/** What the flags say of the margin's encoder, which the small verifier's is not. */
const OTHER_ENCODERS = {
  encoder: undefined,
  'encoder-url': undefined,
  'encoder-key-env': undefined,
  'query-prefix': undefined,
  'passage-prefix': undefined,
};

function modelOf({ model, decider }: LiveDeciderFlags, expected: string): string {
  if (model === undefined) throw new InputError(`--model: expected ${expected} for --decider ${decider}`);
  return model;
}
