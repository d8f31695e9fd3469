import { InputError, StoppedError } from '../core/errors.js';
import type { Fidelity } from '../core/fidelity.js';
import { SPLITTER, splitSentences } from '../core/sentences.js';
import { words } from '../core/text.js';
import type { RetrievedSentence, StopReason } from '../core/trajectories.js';
import { type ChatReply, type LanguageModel, LanguageModelError, NoLogprobsError, metered } from '../llm/index.js';
import { flareConclusion, flareSentence, flareSha256 } from '../prompts/index.js';
import type { Agent, AgentEnd, AgentLoop, AgentTools } from './agent.js';

export interface FlareOptions {
  /** A token below this probability makes its sentence a query, in (0, 1]. Default: 0.4 for FLARE, 0.6 for DRAGIN-approx. */
  beta?: number | undefined;
}

/** Sentences a question and new tokens a sentence at most (HALT). */
export const FLARE_LIMITS = { sentences: 8, tokens: 64 } as const;
export const FLARE_BETA = { flare: 0.4, dragin: 0.6 } as const;

/**
 * FLARE (Jiang et al., direct form; method.md §9): a sentence is drafted without documents; where a token in it is improbable, the sentence
 * is the query of one loop, and is written again with what that loop found. Sentences without such a token make no loop, so that a question
 * may have none. The model has to give token log-probabilities.
 */
export function flareAgent(model: LanguageModel, options: FlareOptions = {}): Agent {
  return agent('flare', model, options.beta ?? FLARE_BETA.flare, {
    fidelity: 'exact',
    fidelity_note: 'trigger, query and second writing are those of the published control; the wording of the prompt is our own',
  });
}

/** DRAGIN as HALT approximates it: FLARE's loop with a higher threshold. */
export function draginAgent(model: LanguageModel, options: FlareOptions = {}): Agent {
  return agent('dragin', model, options.beta ?? FLARE_BETA.dragin, {
    fidelity: 'approximate',
    fidelity_note:
      "FLARE's loop with a higher threshold: DRAGIN itself weighs each token's entropy with the attention it gets and makes its query from attention, neither of which a served model gives",
  });
}

function agent(name: string, model: LanguageModel, beta: number, fidelity: Fidelity): Agent {
  if (!(beta > 0 && beta <= 1)) throw new RangeError(`beta: got ${beta}, expected a probability in (0, 1]`);
  return {
    name,
    identity: {
      agent: name,
      model: model.identity,
      prompt_sha256: flareSha256(),
      beta,
      max_sentences: FLARE_LIMITS.sentences,
      max_tokens: FLARE_LIMITS.tokens,
      splitter: SPLITTER,
      ...fidelity,
    },
    prepare: (signal) => requireLogprobs(name, model, signal),
    run: (question, tools) => write(question, tools, { model, beta }),
  };
}

async function requireLogprobs(name: string, model: LanguageModel, signal: AbortSignal | undefined): Promise<void> {
  const message = `--agent ${name}: needs the log-probabilities of tokens, and the language model gives none`;
  let reply: ChatReply;
  try {
    reply = await model.chat({ messages: [{ role: 'user', content: 'Say yes.' }], maxTokens: 1, logprobs: 0 }, { signal });
  } catch (error) {
    if (error instanceof NoLogprobsError) throw new InputError(`${message} (${error.message})`);
    // A server that is down now may answer on the next try.
    if (error instanceof LanguageModelError)
      throw new StoppedError(`--agent ${name}: ${error.message}; the same command with --resume tries again`);
    throw error;
  }
  if (reply.logprobs === null) throw new InputError(message);
}

interface Sentence {
  text: string;
  /** Log-probability of its least probable token. */
  lowest: number;
}

async function* write(
  question: string,
  { search, signal }: AgentTools,
  { model, beta }: { model: LanguageModel; beta: number },
): AsyncGenerator<AgentLoop, AgentEnd> {
  const meter = metered(model);
  const written: string[] = [];
  const known = new Set<string>();
  const transcript: string[] = [`Question: ${question}`];
  const counts = { sentences: 0, confident_sentences: 0 };
  let answer: string | null = null;

  const next = async (found: readonly RetrievedSentence[]): Promise<Sentence | null> => {
    const { system, user } = flareSentence(question, written, found);
    const reply = await meter.model.chat(
      {
        messages: [
          { role: 'system', content: system },
          { role: 'user', content: user },
        ],
        maxTokens: FLARE_LIMITS.tokens,
        logprobs: 0,
      },
      { signal },
    );
    return firstSentence(reply);
  };
  const ended = (reason: StopReason): AgentEnd => ({
    stop_reason: reason,
    answered: { answer: answer === '' ? null : answer, transcript: `${transcript.join('\n')}\n` },
    usage: meter.usage(),
    counts,
  });
  const keyOf = (text: string): string => words(text).join(' ');

  while (written.length < FLARE_LIMITS.sentences) {
    const draft = await next([]);
    if (draft === null) return ended(written.length > 0 ? 'finished' : 'no_output');
    transcript.push(`Draft (least probable token ${Math.exp(draft.lowest).toPrecision(3)}): ${draft.text}`);
    if (known.has(keyOf(draft.text))) return ended('repeated_sentence');
    let { text } = draft;
    if (draft.lowest < Math.log(beta)) {
      const sentences = await search(draft.text);
      if (sentences === null) return ended('budget');
      transcript.push(...sentences.map((one) => `  [${one.title}] ${one.text.trim()}`));
      const again = await next(sentences);
      // A model that has nothing to say to what was found keeps to its draft.
      if (again !== null) text = again.text;
      transcript.push(`Written: ${text}`);
      yield { query: draft.text, sub_answer: null, sentences };
      if (known.has(keyOf(text))) return ended('repeated_sentence');
    } else {
      counts.confident_sentences++;
    }
    written.push(text);
    known.add(keyOf(text)).add(keyOf(draft.text));
    counts.sentences++;
    const said = flareConclusion(text);
    if (said !== undefined) {
      answer = said;
      return ended('finished');
    }
  }
  return ended('sentence_limit');
}

/** The first sentence of a reply with its least probable token; null for a reply without one. */
function firstSentence(reply: ChatReply): Sentence | null {
  const start = reply.text.search(/\S/);
  if (start === -1) return null;
  const [line = ''] = reply.text.slice(start).split('\n');
  const text = splitSentences(line)[0] ?? line.trim();
  if (reply.logprobs === null) throw new NoLogprobsError('got a reply without the log-probabilities that were asked for');
  // Where the splitter changed white space inside the sentence it is not found, and the line's tokens are taken.
  const end = start + (line.startsWith(text) ? text.length : line.length);
  let [at, lowest, withoutText] = [0, 0, 0];
  for (const { token, logprob } of reply.logprobs) {
    if (at >= end) break;
    at += token.length;
    withoutText = Math.min(withoutText, logprob);
    // A part of a character stands with the token that has the whole one.
    if (token === '') continue;
    if (at > start) lowest = Math.min(lowest, withoutText);
    withoutText = 0;
  }
  return { text, lowest };
}
