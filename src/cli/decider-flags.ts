import type { Options } from 'yargs';
import { HYPOTHESES, type Hypothesis } from '../../runtime/index.js';
import { CLAIM_TEXTS, type ClaimText } from '../core/claims.js';
import { InputError } from '../core/errors.js';
import { JUDGE_READS, type JudgeReads } from '../prompts/index.js';
import { type EncoderFlags, encoderOptions } from './encoder-flags.js';
import { type LlmFlags, llmOptions } from './llm-flags.js';
import { type VerifierFlags, verifierOptions } from './verifier-flags.js';

export const DECIDERS = ['gold', 'small', 'verifier', 'file', 'judge', 'nli', 'stoprag', 'simrag', 'or'] as const;
export type DeciderName = (typeof DECIDERS)[number];

/** Flags that choose a decider, and those that belong to one. */
export interface DeciderFlags extends VerifierFlags, EncoderFlags, LlmFlags {
  decider: DeciderName;
  verdicts?: string;
  threshold?: number;
  'judge-reads'?: JudgeReads;
  'allow-wrong-polarity'?: boolean;
  hypothesis?: Hypothesis;
  of?: string;
  'skip-incomplete'?: boolean;
  covering?: 'answer' | 'paragraph';
  support?: 'any' | 'all';
  model?: string;
  claims?: string;
  'claim-text'?: ClaimText;
  'all-pairs'?: boolean;
  'look-ahead'?: number;
}

/** Flags of the prompt judge alone. */
export const judgeOptions = {
  'judge-reads': {
    choices: JUDGE_READS,
    describe: 'judge: what stands for the evidence (default: sub_answers where the run has them, else the retrieved sentences)',
  },
  'allow-wrong-polarity': {
    type: 'boolean',
    describe: 'judge: go on although it says yes to empty states rather than to sufficient ones',
  },
} as const;

export const deciderOption = {
  decider: {
    choices: DECIDERS,
    demandOption: true,
    describe:
      'gold: oracle coverage, a diagnostic; small: the small verifier; verifier: a trained one; file: verdicts made elsewhere; judge: a language model, without claims; nli: a cross-encoder; stoprag, simrag: a trained two-way head; or: either of two',
  },
} as const satisfies { [name: string]: Options };

/** Flags of single deciders; without defaults of the command line's own, so that a flag with a value is one that was given. */
export const deciderOptions = {
  verdicts: { type: 'string', describe: 'file: JSON lines {question_id, loop, covered, p?, row?}' },
  threshold: {
    type: 'number',
    describe: 'file, judge, nli: from which p on a loop, or with nli a claim, is covered (default 0.5; the papers also take 0.95, nli 0.9)',
  },
  ...judgeOptions,
  hypothesis: {
    choices: HYPOTHESES,
    describe: 'nli: what is made of a claim: a sentence of title and target (default), both as a key phrase, or its own text',
  },
  of: { type: 'string', describe: 'or: the names of two verdicts in RUN/verdicts, A,B' },
  'skip-incomplete': { type: 'boolean', describe: 'file: leave out questions of which a loop has no verdict' },
  covering: {
    choices: ['answer', 'paragraph'],
    describe: "gold, MuSiQue: a hop's sentences with its answer (default), or all of its paragraph",
  },
  support: { choices: ['any', 'all'], describe: 'gold: one gold sentence covers a hop (default), or all of them have to be retrieved' },
  model: { type: 'string', describe: 'small, verifier: folder of the model (small train, verifier import), or a verifier by name' },
  claims: { type: 'string', describe: 'small, verifier: claims that it reads: RUN/claims/CLAIMS' },
  'claim-text': { choices: CLAIM_TEXTS, describe: 'small: which text of a claim it reads (default expected_claim)' },
  'all-pairs': {
    type: 'boolean',
    describe: 'small, verifier: score every pair, as a threshold sweep needs it; else a scan ends at its first match',
  },
  'look-ahead': {
    type: 'number',
    describe: 'verifier: sentences of a claim scored together before the scan looks for a match (default 2; with --server all)',
  },
  ...encoderOptions,
  encoder: { ...encoderOptions.encoder, describe: 'small: default: the one that the model was trained on, by name' },
  ...verifierOptions,
  ...llmOptions,
} as const satisfies { [name: string]: Options };

/** Which deciders have a use for each flag: the compiler asks for every one. */
const owners: { readonly [flag in keyof typeof deciderOptions]: readonly DeciderName[] } = {
  verdicts: ['file'],
  threshold: ['file', 'judge', 'nli', 'stoprag', 'simrag'],
  hypothesis: ['nli'],
  of: ['or'],
  'skip-incomplete': ['file'],
  covering: ['gold'],
  support: ['gold'],
  model: ['small', 'verifier', 'nli', 'stoprag', 'simrag'],
  claims: ['small', 'verifier', 'nli'],
  'claim-text': ['small'],
  'all-pairs': ['small', 'verifier', 'nli'],
  'look-ahead': ['verifier'],
  ...ownedBy(judgeOptions, 'judge'),
  ...ownedBy(llmOptions, 'judge'),
  ...ownedBy(encoderOptions, 'small'),
  ...ownedBy(verifierOptions, 'verifier'),
  provider: ['verifier', 'nli', 'stoprag', 'simrag'],
  threads: ['verifier', 'nli', 'stoprag', 'simrag'],
  'cache-dir': ['small', 'judge'],
  // A folder of models says nothing of an NLI model, which is named by its path, and harms nothing.
  'model-dir': ['small', 'verifier', 'nli'],
};

/** Throws InputError for a flag that the chosen decider has no use for. */
export function refuseOthersFlags(flags: DeciderFlags): void {
  for (const [flag, deciders] of Object.entries(owners) as [keyof typeof owners, readonly DeciderName[]][]) {
    if (flags[flag] !== undefined && !deciders.includes(flags.decider))
      throw new InputError(`--${flag}: of no use with --decider ${flags.decider}`);
  }
}

function ownedBy<T extends object>(options: T, decider: DeciderName): { readonly [flag in keyof T]: readonly DeciderName[] } {
  return Object.fromEntries(Object.keys(options).map((flag) => [flag, [decider]])) as unknown as {
    readonly [flag in keyof T]: readonly DeciderName[];
  };
}
