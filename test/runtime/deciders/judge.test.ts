import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Decider, type Decision, judgeDecider, yesShare } from '../../../runtime/index.js';
import type { Claim } from '../../../src/core/claims.js';
import type { Trajectory } from '../../../src/core/trajectories.js';
import { type ChatRequest, LanguageModelError, NoLogprobsError } from '../../../src/llm/index.js';
import { JUDGE_WORDS, estimateTokens, judgeCanaries, judgeContents } from '../../../src/prompts/index.js';
import { type ScriptedModel, scriptedModel } from '../../support/scripted-model.js';
import { recordOf, trajectoryOf } from '../../support/trajectories.js';

const places = (...tokens: [string, number][]): { token: string; logprob: number; top: { token: string; logprob: number }[] } => {
  const top = tokens.map(([token, p]) => ({ token, logprob: Math.log(p) }));
  return { ...(top[0] as { token: string; logprob: number }), top };
};

/** Says yes with the probability that the function gives to the user turn. */
function judging(pYes: (user: string) => number): ScriptedModel {
  return scriptedModel(({ messages }: ChatRequest) => {
    const p = pYes(messages[1]?.content ?? '');
    return { text: p >= 0.5 ? 'yes' : 'no', logprobs: [places(['yes', p], ['no', 1 - p])] };
  });
}

/** Knows the polarity: more lines, more yes. */
const bySteps = (user: string): number => Math.min(0.99, 0.1 + 0.4 * (user.match(/^Sub-answer:/gm)?.length ?? 0));

function trajectory(): Trajectory {
  const made = trajectoryOf([[[0, 0]], [[0, 1]], [[1, 0]]]);
  for (const [at, loop] of made.loops.entries()) loop.sub_answer = at === 1 ? null : `answer ${at + 1}`;
  return made;
}
const record = recordOf([['T0', 'a', 'b']], { question: 'Which one?' });
const claims = (text: string): Claim[] => [
  {
    question_id: 'q',
    row: 0,
    question: 'Which one?',
    claim: 0,
    source: 'generated',
    page: text,
    expected_target: text,
    role: 'intermediate',
    answer_type: text,
    expected_claim: text,
    subquestion: null,
  },
];
const decided = async (decider: Decider, given: readonly Claim[] | null = null): Promise<Decision> =>
  (await decider.decide({ trajectory: trajectory(), record, claims: given })) as Decision;
const nobody = async function* (): AsyncGenerator<never> {};

test('P(yes) sums the spellings of both words and leaves the other tokens out of both', () => {
  // yes: 0.3 + 0.1 + 0.05 + 0.05; no: 0.2 + 0.05. Together 0.75, of which yes has two thirds.
  const { p, mass } = yesShare(
    places(['yes', 0.3], [' Yes', 0.1], ['▁YES', 0.05], ['ĠYes', 0.05], ['no', 0.2], [' No', 0.05], ['yesterday', 0.1], ['not', 0.1]),
  );
  assert.ok(Math.abs(p - 2 / 3) < 1e-12 && Math.abs(mass - 0.75) < 1e-12);
  assert.deepEqual(yesShare(places(['maybe', 0.9])), { p: 0, mass: 0 });
  // The chosen token without the blank that it has among the most probable ones is counted once: 0.5 / (0.5 + 0.4).
  const blank = [
    { token: ' Yes', logprob: Math.log(0.5) },
    { token: ' No', logprob: Math.log(0.4) },
  ];
  const once = yesShare({ token: 'Yes', logprob: Math.log(0.5), top: blank });
  assert.ok(Math.abs(once.p - 5 / 9) < 1e-12 && Math.abs(once.mass - 0.9) < 1e-12);
  // A server that leaves the chosen token out of the most probable ones.
  assert.deepEqual(yesShare({ token: 'no', logprob: Math.log(0.5), top: [{ token: 'yes', logprob: Math.log(0.5) }] }), { p: 0.5, mass: 1 });
});

test('the judge rules after every loop on sub-questions and sub-answers so far', async () => {
  const model = judging(bySteps);
  const decider = judgeDecider(model, { threshold: 0.95 });
  const { claims: none, verdicts, usage, counts } = await decided(decider);
  assert.equal(none, null);
  assert.deepEqual(
    verdicts.map(({ loop, claim, p }) => [loop, claim, Number(p?.toFixed(9))]),
    [
      [1, null, 0.5],
      [2, null, 0.9],
      [3, null, 0.99],
    ],
  );
  assert.deepEqual([usage?.calls, counts], [3, { loops_without_yes_or_no: 0, loops_of_low_mass: 0, cut_prompts: 0 }]);
  assert.equal(
    model.requests[1]?.messages[1]?.content,
    ['Question: Which one?', 'Sub-question: query 1', 'Sub-answer: answer 1', 'Sub-question: query 2', 'Sub-answer: not found'].join('\n') +
      '\nIs this enough to answer the question? yes or no:',
  );
  assert.deepEqual([decider.scan.threshold.pAtLeast, decider.readsClaims], [0.95, false]);
  assert.ok(
    model.requests.every(({ maxTokens, logprobs, temperature }) => maxTokens === 1 && logprobs === 20 && temperature === undefined),
  );
});

test('with sentences in place of sub-answers the prompt has queries and what they found', async () => {
  const model = judging(() => 0.5);
  await decided(judgeDecider(model, { reads: 'sentences' }));
  assert.match(model.requests[0]?.messages[1]?.content ?? '', /\nLooked up: query 1\n\[T0\]: text 0\.0\nIs this/);
});

test('a prompt that is too long for a context loses the end of what was found, counted and warned of; the limit is in the identity', async () => {
  const model = judging(() => 0.5);
  const long = trajectoryOf([[[0, 0]], [[0, 1]]]);
  for (const { sentences } of long.loops) for (const one of sentences) one.text = 'word '.repeat(60).trim();
  // A word is a token, and so is a sign, by the estimate: system message, question, cue and template take under 100, one loop's sentence over 60.
  const decider = judgeDecider(model, { reads: 'sentences', maxInputTokens: 220 });
  const { counts, verdicts } = (await decider.decide({ trajectory: long, record, claims: null })) as Decision;
  assert.deepEqual([verdicts.length, counts?.cut_prompts], [2, 1]);
  const [whole = '', cut = ''] = model.requests.map(({ messages }) => messages[1]?.content ?? '');
  assert.equal(whole.match(/word/g)?.length, 60);
  assert.match(
    cut,
    /^Question: Which one\?\nLooked up: query 1\n.*word\nLooked up: query 2\n.*word\nIs this enough to answer the question\? yes or no:$/,
  );
  assert.ok((cut.match(/word/g)?.length ?? 0) < 120);
  for (const { messages } of model.requests) assert.ok(messages.reduce((sum, { content }) => sum + estimateTokens(content), 32) <= 220);
  assert.equal((decider.identity as { [field: string]: unknown }).max_input_tokens, 220);
  assert.deepEqual(decider.warnings?.({ cut_prompts: 1 }), [
    "what was found was cut at 1 loops to keep the judge's prompts within 220 tokens",
  ]);
  assert.deepEqual(decider.warnings?.({ cut_prompts: 0 }), []);
});

test('no claim text reaches the judge: its prompts are byte for byte the same whatever the claims', async () => {
  const prompts = async (given: readonly Claim[] | null): Promise<string> => {
    const model = judging(bySteps);
    await decided(judgeDecider(model), given);
    return JSON.stringify(model.requests);
  };
  const expected = await prompts(null);
  for (const given of [claims('Mona Ray was born in Tarn'), claims('something else'), []]) assert.equal(await prompts(given), expected);
});

test('P23: the words of the prompt are those that are counted, and each has the meaning that the prompt gives it', () => {
  const { system, user } = judgeContents({ question: 'q', steps: [] }, 'sub_answers');
  assert.match(system, new RegExp(`\\b${JUDGE_WORDS.fires}: it is enough\\b`));
  assert.match(system, new RegExp(`\\b${JUDGE_WORDS.goesOn}: something is still missing\\b`));
  assert.match(user, new RegExp(`${JUDGE_WORDS.fires} or ${JUDGE_WORDS.goesOn}:$`));
});

test('P23: a judge that says yes to empty states rather than to sufficient ones is refused before a run starts, unless it is wanted', async () => {
  const right = await judgeDecider(judging(bySteps)).prepare?.(nobody());
  const { canaries, canaries_right: n } = right?.counts ?? {};
  assert.deepEqual([canaries, n, right?.warnings], [judgeCanaries().length, judgeCanaries().length, []]);
  const swapped = (user: string): number => 1 - bySteps(user);
  const found = 'the judge gives obviously sufficient states P(yes) 0.100 on average, and empty ones 0.900';
  await assert.rejects(async () => judgeDecider(judging(swapped)).prepare?.(nobody()), {
    name: 'CheckFailedError',
    message: `${found}: its verdicts would say nothing; another --llm, or --allow-wrong-polarity to go on all the same`,
  });
  const allowed = await judgeDecider(judging(swapped), { allowWrongPolarity: true }).prepare?.(nobody());
  assert.deepEqual([allowed?.counts.canaries_right, allowed?.warnings], [0, [`${found}: its verdicts say nothing of coverage`]]);
});

test('a model without log-probabilities is refused before the first question; one that says neither word covers nothing, counted', async () => {
  await assert.rejects(async () => judgeDecider(scriptedModel(() => new NoLogprobsError('no logprobs here'))).prepare?.(nobody()), {
    name: 'InputError',
    message: '--decider judge: needs the log-probabilities of tokens, and the language model gives none (no logprobs here)',
  });
  // A server that is down says nothing of log-probabilities.
  await assert.rejects(async () => judgeDecider(scriptedModel(() => new LanguageModelError('status 503'))).prepare?.(nobody()), {
    name: 'StoppedError',
    message: '--decider judge: status 503; the same command with --resume tries again',
  });
  const mute = scriptedModel(() => ({ text: 'maybe', logprobs: [places(['maybe', 0.9], ['yes', 0.01])] }));
  assert.deepEqual((await decided(judgeDecider(mute))).counts, { loops_without_yes_or_no: 0, loops_of_low_mass: 3, cut_prompts: 0 });
  const silent = scriptedModel(() => ({ text: '', logprobs: [] }));
  const { verdicts, counts } = await decided(judgeDecider(silent));
  assert.deepEqual([verdicts.map(({ p }) => p), counts], [[0, 0, 0], { loops_without_yes_or_no: 3, loops_of_low_mass: 0, cut_prompts: 0 }]);
});
