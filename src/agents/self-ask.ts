import type { RetrievedSentence, StopReason } from '../core/trajectories.js';
import { words } from '../core/text.js';
import { type LanguageModel, metered } from '../llm/index.js';
import {
  type AnsweredQuestion,
  SELF_ASK_STOP,
  type SelfAskLine,
  readSelfAsk,
  readShortAnswer,
  selfAskIntermediate,
  selfAskSha256,
  selfAskStep,
} from '../prompts/index.js';
import type { Agent, AgentEnd, AgentLoop, AgentTools } from './agent.js';

export interface SelfAskOptions {
  /** Whether its own stop is overridden until the budget (HALT, forced continuation): it is told to go on, once a stop. Default false. */
  forceContinue?: boolean | undefined;
}

/** New tokens at most: a follow-up (HALT), an intermediate answer, the final answer (choices, those of the standard extractor). */
const TOKENS = { follow_up: 80, intermediate: 48, final: 48 } as const;
/** Sentences that an intermediate answer is read from at most, the loop's own always among them, then the newest before them. */
const READ_AT_MOST = 12;
/** Loops that bring nothing in a row before it ends with `no_progress`. */
const IDLE_LOOPS = 2;

/**
 * Self-Ask (Press et al.; HALT's and CoVeR's host agent, method.md §9): greedily asks follow-up questions, one a loop, answers each from what
 * was found, and ends with an answer of its own. Every question is searched for at least once: where the model begins with an answer or with
 * nothing, the question itself is the first query. A follow-up that was asked before is searched for again, which brings the next best
 * sentences; after two loops that bring nothing the question ends.
 */
export function selfAskAgent(model: LanguageModel, options: SelfAskOptions = {}): Agent {
  const { forceContinue = false } = options;
  return {
    name: 'self-ask',
    identity: {
      agent: 'self-ask',
      model: model.identity,
      prompt_sha256: selfAskSha256(),
      max_tokens: { ...TOKENS },
      sentences_read: READ_AT_MOST,
      force_continue: forceContinue,
      first_query: 'its own; the question itself where it asks nothing',
      fidelity: 'approximate',
      fidelity_note:
        'the method and its limits are those of the papers, which print no prompt; here each turn is a chat of its own wording',
    },
    run: (question, tools) => search(question, tools, { model, forceContinue }),
  };
}

async function* search(
  question: string,
  tools: AgentTools,
  { model, forceContinue }: { model: LanguageModel; forceContinue: boolean },
): AsyncGenerator<AgentLoop, AgentEnd> {
  const meter = metered(model);
  const transcript: string[] = [`Question: ${question}`];
  const pairs: AnsweredQuestion[] = [];
  const asked = new Set<string>();
  const found: RetrievedSentence[] = [];
  const counts = { repeated_queries: 0, unmarked_starts: 0, forced_stops: 0 };
  let [answer, idle]: [string | null, number] = [null, 0];

  const say = async (ask?: 'go_on' | 'conclude'): Promise<SelfAskLine> => {
    const maxTokens = ask === 'conclude' ? TOKENS.final : TOKENS.follow_up;
    const { text } = await meter.model.chat(
      { messages: selfAskStep(question, pairs, ask), maxTokens, stop: SELF_ASK_STOP },
      { signal: tools.signal },
    );
    if (ask !== undefined) transcript.push(`(told to ${ask === 'go_on' ? 'go on' : 'conclude'})`);
    transcript.push(text.trim());
    return readSelfAsk(text);
  };
  const ended = async (reason: StopReason): Promise<AgentEnd> => {
    if (answer === null) {
      const last = await say('conclude');
      // An answer without its mark is one all the same: nothing else was asked for.
      answer = last.kind === 'final' ? last.answer : last.kind === 'other' ? readShortAnswer(transcript.at(-1) as string) : null;
    }
    const given = answer === '' ? null : answer;
    return { stop_reason: reason, answered: { answer: given, transcript: `${transcript.join('\n')}\n` }, usage: meter.usage(), counts };
  };

  for (;;) {
    let line = await say();
    if (line.kind !== 'follow_up' && pairs.length === 0) {
      counts.unmarked_starts++;
      line = { kind: 'follow_up', query: question };
    }
    if (line.kind !== 'follow_up') {
      const own = line;
      if (own.kind === 'final' && own.answer !== '') answer = own.answer;
      if (!forceContinue || tools.left() === 0) return ended(STOPS[own.kind]);
      counts.forced_stops++;
      line = await say('go_on');
      if (line.kind !== 'follow_up') {
        if (line.kind === 'final' && line.answer !== '') answer = line.answer;
        return ended('continue_refused');
      }
      // What it would have answered is superseded by what it asks now.
      answer = null;
    }
    const { query } = line;
    const sentences = await tools.search(query);
    if (sentences === null) return ended('budget');
    const key = words(query).join(' ');
    if (asked.has(key)) counts.repeated_queries++;
    asked.add(key);
    const room = Math.max(0, READ_AT_MOST - sentences.length);
    const read = [...sentences, ...found.slice(Math.max(0, found.length - room))];
    found.push(...sentences);
    idle = sentences.length === 0 ? idle + 1 : 0;
    const sub_answer = sentences.length === 0 ? null : await intermediate(meter.model, query, read, tools.signal);
    pairs.push({ question: query, answer: sub_answer });
    transcript.push(
      `Search: ${query}`,
      ...sentences.map(({ title, text }) => `  [${title}] ${text.trim()}`),
      `Intermediate answer: ${sub_answer ?? '(none)'}`,
    );
    yield { query, sub_answer, sentences };
    if (idle === IDLE_LOOPS) return ended('no_progress');
  }
}

const STOPS = { final: 'no_follow_up', empty: 'no_output', other: 'off_format' } as const satisfies { [kind: string]: StopReason };

async function intermediate(
  model: LanguageModel,
  query: string,
  sentences: readonly RetrievedSentence[],
  signal: AbortSignal | undefined,
): Promise<string | null> {
  const { system, user } = selfAskIntermediate(query, sentences);
  const messages = [
    { role: 'system', content: system },
    { role: 'user', content: user },
  ] as const;
  const { text } = await model.chat({ messages, maxTokens: TOKENS.intermediate }, { signal });
  return readShortAnswer(text);
}
