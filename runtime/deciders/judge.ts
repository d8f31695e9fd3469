import { CheckFailedError, InputError, StoppedError } from '../../src/core/errors.js';
import type { Json } from '../../src/core/manifest.js';
import type { HopRecord } from '../../src/core/records.js';
import type { Loop } from '../../src/core/trajectories.js';
import { type LanguageModel, LanguageModelError, NoLogprobsError, type TokenLogprob, metered } from '../../src/llm/index.js';
import {
  JUDGE_INPUT_TOKENS,
  JUDGE_WORDS,
  type JudgeReads,
  type JudgedState,
  estimateTokens,
  fittedJudge,
  judgeCanaries,
  judgePromptSha256,
} from '../../src/prompts/index.js';
import type { Decider, Preparation, VerdictScore } from './decider.js';
import type { LiveDecider } from './live.js';
import { thresholdOf } from './threshold.js';
import { DEFAULT_THRESHOLD } from './verdict.js';

export interface JudgeOptions {
  /** From which P(yes) on a loop is covered, in (0, 1]. Default 0.5; the papers also take 0.95. */
  threshold?: number | undefined;
  /** What the judge reads beside the questions: `sub_answers` (default, the papers'), or `sentences` for runs whose agent gives no sub-answers. */
  reads?: JudgeReads | undefined;
  /** Go on although the judge puts an empty state above a sufficient one. Default false. */
  allowWrongPolarity?: boolean | undefined;
  /** Tokens of a prompt at most; what was found beyond is left out at its end, and counted (`cut_prompts`). Default 4,000. */
  maxInputTokens?: number | undefined;
}

/** Most probable tokens that are asked for: as many as OpenAI-compatible servers give. */
const TOP = 20;
/** Below this common probability of both words a verdict says little, and is counted. */
const LOW_MASS = 0.5;
/** One token's log-probability, given twice, differs by its rounding at most. */
const SAME_LOGPROB = 1e-3;

/**
 * The zero-shot prompt judge (method.md §8): one call a loop reads the question with the sub-questions and sub-answers so far, and no claim.
 * P(yes) is the share of "yes" in the probability of both words, each summed over its spellings (case, white space around it) among the most
 * probable tokens at the reply's first place; what lies on other tokens is left out of both. A loop without either word is not covered.
 */
export function judgeDecider(model: LanguageModel, options: JudgeOptions = {}): Decider {
  const { threshold, reads, allowWrongPolarity, maxInputTokens } = settingsOf(options);
  return {
    name: 'judge',
    identity: identityOf(model, { threshold, reads, maxInputTokens }),
    readsClaims: false,
    scan: { threshold: { ...DEFAULT_THRESHOLD, pAtLeast: threshold }, allPairs: false },
    prepare: (_questions, { signal } = {}) => checkPolarity(model, { reads, maxInputTokens, signal }, allowWrongPolarity),
    warnings: ({ cut_prompts: cut = 0 }) =>
      cut > 0 ? [`what was found was cut at ${cut} loops to keep the judge's prompts within ${maxInputTokens} tokens`] : [],
    decide: async ({ trajectory, record, signal }) => {
      const meter = metered(model);
      const question = questionOf(trajectory, record);
      const counts = { loops_without_yes_or_no: 0, loops_of_low_mass: 0, cut_prompts: 0 };
      const verdicts: VerdictScore[] = [];
      for (const { loop } of trajectory.loops) {
        const steps = trajectory.loops.slice(0, loop).map(({ query, sub_answer, sentences }) => ({ query, answer: sub_answer, sentences }));
        const { p, mass, cut } = await judged(meter.model, { question, steps }, { reads, maxInputTokens, signal });
        if (cut) counts.cut_prompts++;
        if (mass === 0) counts.loops_without_yes_or_no++;
        else if (mass < LOW_MASS) counts.loops_of_low_mass++;
        verdicts.push({ loop, claim: null, page: null, sentence: null, lp_match: null, lp_partial: null, lp_null: null, p });
      }
      return { claims: null, verdicts, counts, usage: meter.usage() };
    },
  };
}

/**
 * The judge in a running agent: one call reads the question and all steps so far. `prepare` checks once that the model's yes means yes, as a
 * run does before its first question; `open` does not.
 */
export function liveJudgeDecider(model: LanguageModel, options: JudgeOptions = {}): LiveDecider & { prepare(): Promise<Preparation> } {
  const { threshold, reads, allowWrongPolarity, maxInputTokens } = settingsOf(options);
  return {
    name: 'judge',
    identity: identityOf(model, { threshold, reads, maxInputTokens }),
    readsClaims: false,
    prepare: () => checkPolarity(model, { reads, maxInputTokens, signal: undefined }, allowWrongPolarity),
    open: ({ question }) => ({
      call: async (loops, { signal } = {}) => {
        const meter = metered(model);
        const steps = loops.map(({ query, subAnswer, sentences }) => ({ query, answer: subAnswer, sentences: [...sentences] }));
        const { p } = await judged(meter.model, { question, steps }, { reads, maxInputTokens, signal });
        const { prompt_tokens: prompt, completion_tokens: completion } = meter.usage();
        return { covered: p >= threshold, p, matched: null, pairs: null, tokens: prompt + completion };
      },
    }),
  };
}

function settingsOf(options: JudgeOptions): { [option in keyof JudgeOptions]-?: NonNullable<JudgeOptions[option]> } {
  const { reads = 'sub_answers', allowWrongPolarity = false, maxInputTokens = JUDGE_INPUT_TOKENS } = options;
  return { threshold: thresholdOf(options), reads, allowWrongPolarity, maxInputTokens };
}

function identityOf(
  model: LanguageModel,
  { threshold, reads, maxInputTokens }: { threshold: number; reads: JudgeReads; maxInputTokens: number },
): Json {
  return {
    decider: 'judge',
    model: model.identity,
    prompt_sha256: judgePromptSha256(),
    reads,
    threshold,
    top_tokens: TOP,
    max_input_tokens: maxInputTokens,
  };
}

/** P(yes) of the most probable tokens at one place, and the common probability of both words. */
export function yesShare(place: Pick<TokenLogprob, 'token' | 'logprob' | 'top'>): { p: number; mass: number } {
  // The token itself is among the most probable ones, but for servers that leave it out. Its name may have lost the blank that stands there.
  const isChosen = ({ token, logprob }: { token: string; logprob: number }): boolean =>
    spelling(token) === spelling(place.token) && Math.abs(logprob - place.logprob) <= SAME_LOGPROB;
  const tokens = place.top.some(isChosen) ? place.top : [...place.top, place];
  const sum = (word: string): number =>
    tokens.filter(({ token }) => spelling(token) === word).reduce((total, { logprob }) => total + Math.exp(logprob), 0);
  const [yes, no] = [sum(JUDGE_WORDS.fires), sum(JUDGE_WORDS.goesOn)];
  return { p: yes + no === 0 ? 0 : yes / (yes + no), mass: yes + no };
}

/** Some tokenizers show a leading space as a mark of their own. */
function spelling(token: string): string {
  return token.replace(/[▁Ġ]/gu, ' ').trim().toLowerCase();
}

interface Asking {
  reads: JudgeReads;
  maxInputTokens: number;
  signal: AbortSignal | undefined;
}

async function judged(
  model: LanguageModel,
  state: JudgedState,
  { reads, maxInputTokens, signal }: Asking,
): Promise<{ p: number; mass: number; cut: boolean }> {
  const { contents, cut } = await fittedJudge(state, reads, { limit: maxInputTokens, count: model.countTokens ?? estimateTokens });
  const { system, user } = contents;
  const reply = await model.chat(
    {
      messages: [
        { role: 'system', content: system },
        { role: 'user', content: user },
      ],
      maxTokens: 1,
      logprobs: TOP,
    },
    { signal },
  );
  if (reply.logprobs === null) throw new NoLogprobsError('got a reply without the log-probabilities that were asked for');
  const [first] = reply.logprobs;
  return { ...(first === undefined ? { p: 0, mass: 0 } : yesShare(first)), cut };
}

/**
 * The judge has to put sufficient states above empty ones on average, else its "yes" means something else than is read (P23): a swapped
 * prompt, another template, a model that cannot do it.
 */
async function checkPolarity(model: LanguageModel, asking: Asking, allowWrongPolarity: boolean): Promise<Preparation> {
  const canaries = judgeCanaries();
  let [sufficient, empty, right] = [0, 0, 0];
  for (const canary of canaries) {
    const high = await judgedFirst(model, canary.sufficient, asking);
    const low = await judgedFirst(model, canary.empty, asking);
    sufficient += high / canaries.length;
    empty += low / canaries.length;
    if (high > low) right++;
  }
  const counts = { canaries: canaries.length, canaries_right: right, canary_p_sufficient: sufficient, canary_p_empty: empty };
  if (sufficient > empty) return { counts, warnings: [] };
  const found = `the judge gives obviously sufficient states P(yes) ${sufficient.toFixed(3)} on average, and empty ones ${empty.toFixed(3)}`;
  if (!allowWrongPolarity)
    throw new CheckFailedError(`${found}: its verdicts would say nothing; another --llm, or --allow-wrong-polarity to go on all the same`);
  return { counts, warnings: [`${found}: its verdicts say nothing of coverage`] };
}

/** As `judged`; a model that gives no log-probabilities at all is refused here, before the first question. */
async function judgedFirst(model: LanguageModel, state: JudgedState, asking: Asking): Promise<number> {
  try {
    return (await judged(model, state, asking)).p;
  } catch (error) {
    if (error instanceof NoLogprobsError)
      throw new InputError(`--decider judge: needs the log-probabilities of tokens, and the language model gives none (${error.message})`);
    // A server that is down now may answer on the next try.
    if (error instanceof LanguageModelError)
      throw new StoppedError(`--decider judge: ${error.message}; the same command with --resume tries again`);
    throw error;
  }
}

function questionOf({ question_id, row }: { question_id: string; row: number; loops: readonly Loop[] }, record: HopRecord | null): string {
  if (record) return record.question;
  throw new InputError('the judge reads the question, and this run has no records', { row, questionId: question_id });
}
