import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as wait } from 'node:timers/promises';
import { MAY_NOT_ATTEND, type VerifierGraph } from '../../runtime/index.js';

export interface CompletionsServer {
  url: string;
  /** Bodies of the requests, parsed, in order. */
  requests: { model: string; prompt: number[][]; echo?: boolean; logprobs: number }[];
  authorizations: (string | undefined)[];
  /** One entry is used up by each request: the answer's status instead of a completion. */
  statuses: number[];
  /** Sent with a status that is no success. */
  errorText: string;
  /** Answers take this long. */
  delayMs: number;
}

/**
 * An OpenAI-compatible server on loopback, closed when the test ends, whose log-probabilities come from a graph by plain passes. The next
 * tokens that it names are those of `top`, as a trained verifier's most probable ones are its labels; none where `top` is empty.
 */
export async function serveCompletions(
  t: { after(fn: () => unknown): void },
  graph: VerifierGraph,
  { top, named }: { top: readonly (readonly [text: string, id: number])[]; named: 'text' | 'id' },
): Promise<CompletionsServer> {
  const state: CompletionsServer = { url: '', requests: [], authorizations: [], statuses: [], errorText: 'busy', delayMs: 0 };
  const answer = async (body: string): Promise<object> => {
    const request = JSON.parse(body) as CompletionsServer['requests'][number];
    state.requests.push(request);
    const choices = [];
    for (const [index, ids] of request.prompt.entries()) {
      const last = await logProbs(
        graph,
        ids,
        top.map(([, id]) => id),
        [ids.length - 1],
      );
      const next = Object.fromEntries(top.map(([text, id], at) => [named === 'id' ? `token_id:${id}` : text, last[at] as number]));
      const echoed = request.echo === true ? await promptLogProbs(graph, ids) : [];
      choices.push({ index, text: '', logprobs: { token_logprobs: [...echoed, -0.5], top_logprobs: [...echoed.map(() => null), next] } });
    }
    // Some servers answer in the order in which rows were done.
    return { object: 'text_completion', choices: choices.toReversed() };
  };
  const server = createServer((request, response) => {
    state.authorizations.push(request.headers.authorization);
    let body = '';
    request.setEncoding('utf8').on('data', (part: string) => (body += part));
    request.on('end', () => {
      const status = request.url === '/v1/completions' ? (state.statuses.shift() ?? 200) : 404;
      const send = async (): Promise<void> => {
        const text = status === 200 ? JSON.stringify(await answer(body)) : state.errorText;
        await wait(state.delayMs);
        response.writeHead(status, { 'content-type': 'application/json' }).end(text);
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

async function promptLogProbs(graph: VerifierGraph, ids: readonly number[]): Promise<(number | null)[]> {
  const candidates = [...new Set(ids)];
  const places = ids.slice(0, -1).map((_, at) => at);
  const found = await logProbs(graph, ids, candidates, places);
  return ids.map((id, at) => (at === 0 ? null : (found[(at - 1) * candidates.length + candidates.indexOf(id)] as number)));
}

async function logProbs(
  graph: VerifierGraph,
  ids: readonly number[],
  candidates: readonly number[],
  scorePositions: readonly number[],
): Promise<Float32Array> {
  if (candidates.length === 0) return new Float32Array(0);
  const tokens = ids.length;
  const bias = new Float32Array(tokens * tokens).fill(MAY_NOT_ATTEND);
  for (let at = 0; at < tokens; at++) bias.fill(0, at * tokens, at * tokens + at + 1);
  const pass = { batch: 1, tokens, ids, positions: ids.map((_, at) => at), bias, past: null, scorePositions, candidates };
  return (await graph.run(pass)).logprobs;
}
