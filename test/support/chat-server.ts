import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What an OpenAI-compatible server is sent. */
export interface ChatBody {
  model: string;
  messages: { role: string; content: string }[];
  [field: string]: unknown;
}

export interface ChatServer {
  url: string;
  /** Bodies of the requests, parsed, in order. */
  requests: ChatBody[];
  paths: string[];
  authorizations: (string | undefined)[];
  /** Requests whose reply is not out yet, and the most there were at once. */
  underWay: { now: number; most: number };
}

/** The reply's JSON, or a function that answers by itself. */
export type ChatAnswer = object | ((response: ServerResponse) => unknown);

/** An OpenAI-compatible server on loopback, closed when the test ends; `answer` gets each request and its number, from 0. */
export async function serveChat(
  t: { after(fn: () => unknown): void },
  answer: (body: ChatBody, number: number) => ChatAnswer | Promise<ChatAnswer>,
): Promise<ChatServer> {
  const state: ChatServer = { url: '', requests: [], paths: [], authorizations: [], underWay: { now: 0, most: 0 } };
  const server = createServer((request: IncomingMessage, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (part: string) => (text += part));
    request.on('end', () => {
      const body = JSON.parse(text) as ChatBody;
      state.requests.push(body);
      state.paths.push(request.url ?? '');
      state.authorizations.push(request.headers.authorization);
      state.underWay.most = Math.max(state.underWay.most, ++state.underWay.now);
      response.on('close', () => state.underWay.now--);
      const send = async (): Promise<void> => {
        const given = await answer(body, state.requests.length - 1);
        if (typeof given === 'function') await (given as (to: ServerResponse) => unknown)(response);
        else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given));
      };
      // A fault of the double shows as a broken connection.
      send().catch(() => response.destroy());
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.closeAllConnections());
  t.after(() => server.close());
  state.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return state;
}

/** A chat completion of the form that OpenAI documents. */
export function completion(
  content: string,
  {
    finish = 'stop',
    usage = [7, 3],
    logprobs,
  }: { finish?: string | null; usage?: readonly [number, number]; logprobs?: object | null } = {},
): object {
  return {
    id: 'chatcmpl-1',
    object: 'chat.completion',
    choices: [{ index: 0, message: { role: 'assistant', content }, finish_reason: finish, ...(logprobs !== undefined && { logprobs }) }],
    usage: { prompt_tokens: usage[0], completion_tokens: usage[1], total_tokens: usage[0] + usage[1] },
  };
}

/** Where a Self-Ask exchange stands that is sent: its question (behind the examples'), the follow-ups asked so far, or that an intermediate answer is wanted. */
export function selfAskState({ messages }: ChatBody): { question: string; asked: number; wantsIntermediate: boolean } {
  const at = messages.findLastIndex(({ role, content }) => role === 'user' && content.startsWith('Question: '));
  const own = messages.slice(at);
  return {
    question: own[0]?.content.split('\n')[0]?.slice('Question: '.length) ?? '',
    asked: own.filter(({ role }) => role === 'assistant').length,
    wantsIntermediate: messages.at(-1)?.content.endsWith('Answer:') ?? false,
  };
}

/** A status with a text, and headers. */
export function refusal(status: number, text: string, headers: { [name: string]: string } = {}): ChatAnswer {
  return (response) => response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}
