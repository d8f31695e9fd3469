import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  CONTINUE_MESSAGE,
  EmptyAnswerError,
  type Evidence,
  GateDeciderError,
  type GateOptions,
  type GateSession,
  finalInstruction,
} from '../../runtime/index.js';
import type { StoppedBy } from '../../src/core/gate-log.js';
import { type Script, scriptedGate } from './scripted-gate.js';

/** One request to the model, as the host sent it. */
export interface ModelRequest {
  messages: readonly { role: string; text: string }[];
  /** Whether it may call a tool: tools are listed, and the choice is not `none`. */
  tools: boolean;
  /** Tools that are listed, whatever the choice; where a host's test tells. */
  listed?: number;
}

/** What the model says: searches (or calls of another tool, with the same input), all in one step, or a text (which may be empty). */
export type Turn = { search: readonly string[]; call?: string } | { text: string };

export type Model = (request: ModelRequest, at: number) => Turn;

export interface HostInput {
  session: GateSession;
  question: string;
  /** Asked for every request; a host's mock model stands before it. */
  model: Model;
  /** The body of the agent's one tool, `search` with `{ query }`. */
  search: (query: string) => Promise<Evidence>;
}

/** A host under test: runs its agent, with the gate in it, to the answer. */
export interface HostUnderTest {
  /** Tokens that its mock model reports for a request; null where the host tells none. */
  tokensOfRequest: number | null;
  run: (input: HostInput) => Promise<{ answer: string }>;
}

const QUESTION = 'Where was the director of the film born?';
const ANSWER = 'In Lyon, as found.';

interface Case {
  name: string;
  decider: Script;
  options?: Partial<GateOptions>;
  /** Whether the searches find anything new after the first. Default true. */
  finds?: boolean;
  /** Default `searching`. */
  model?: Model;
  expected: { stoppedBy: StoppedBy; searches: number; answer?: string };
}

/** Searches while it may, then answers. */
const searching: Model = ({ tools }, at) => (tools ? { search: [`query ${at + 1}`] } : { text: ANSWER });

const failing: Script = () => {
  throw new Error('no connection');
};

/** Stop reasons, and what provokes each: a decider by script, in shadow so that it is asked at every loop, and bounds. */
const CASES: readonly Case[] = [
  { name: 'covered', decider: ({ loop }) => loop === 2, expected: { stoppedBy: 'covered', searches: 2 } },
  // The second search finds no call left for it.
  { name: 'budget', decider: () => false, options: { bounds: { maxCalls: 1 } }, expected: { stoppedBy: 'budget', searches: 2 } },
  { name: 'maxSteps', decider: () => false, options: { bounds: { maxSteps: 3 } }, expected: { stoppedBy: 'maxSteps', searches: 3 } },
  // One that brings something, two that do not.
  {
    name: 'noProgress',
    decider: () => false,
    options: { bounds: { noProgress: 2 } },
    finds: false,
    expected: { stoppedBy: 'noProgress', searches: 3 },
  },
  { name: 'error', decider: failing, options: { onError: 'stop' }, expected: { stoppedBy: 'error', searches: 1 } },
  {
    name: 'hostFinished',
    decider: () => false,
    model: ({ tools }, at) => (tools && at === 0 ? { search: ['query 1'] } : { text: 'My own end.' }),
    expected: { stoppedBy: 'hostFinished', searches: 1, answer: 'My own end.' },
  },
];

export interface Ran {
  answer: string;
  session: GateSession;
  requests: ModelRequest[];
  /** Queries of the searches that ran. */
  searches: string[];
  deciderCalls: number;
}

/** Runs one question through a host; fails with what the host fails with. */
export async function runHost(
  host: HostUnderTest,
  { decider, model = searching, finds = true, options = {} }: Pick<Case, 'decider' | 'options' | 'finds' | 'model'>,
  seen: Partial<Ran> = {},
): Promise<Ran> {
  const { gate, calls } = scriptedGate(decider, { mode: 'shadow', ...options });
  const session = await gate.open(QUESTION);
  const ran = Object.assign(seen, { session, requests: [] as ModelRequest[], searches: [] as string[] });
  const { answer } = await host
    .run({
      session,
      question: QUESTION,
      model: (request, at) => {
        ran.requests.push(request);
        assert.ok(at < 30, 'the host asks its model without end');
        return model(request, at);
      },
      search: async (query) => {
        ran.searches.push(query);
        await new Promise((resolve) => setImmediate(resolve));
        return [`sentence ${finds ? ran.searches.length : 0} 1,0,0`];
      },
    })
    .finally(() => Object.assign(seen, { deciderCalls: calls.length }));
  return { ...ran, answer, deciderCalls: calls.length };
}

/**
 * The matrix of issue and host: each stop reason ends in exactly one answer that is not empty, no tool runs after the stop, and the continue
 * message is said once. `open` skips the test, or gives the host.
 */
export function hostMatrix(name: string, open: (t: TestContext) => Promise<HostUnderTest | undefined>): void {
  const check = (title: string, body: (host: HostUnderTest) => Promise<void>): void => {
    test(title, async (t) => {
      const host = await open(t);
      if (host) await body(host);
    });
  };

  for (const { expected, ...one } of CASES) {
    check(`P79: ${name}, ${one.name}: one answer, no search after the stop, and the model is told what stopped it`, async (host) => {
      const ran = await runHost(host, one);
      assert.equal(ran.session.stoppedBy, expected.stoppedBy);
      assert.equal(ran.searches.length, expected.searches);
      assert.equal(ran.answer, expected.answer ?? ANSWER);
      // Request after request a search, and the last one for the answer.
      assert.equal(ran.requests.length, expected.searches + 1);
      if (expected.stoppedBy === 'hostFinished') return;
      assert.equal(timesSaid(ran.requests.at(-1), finalInstruction(ran.session)), 1);
      assert.equal(ran.requests.at(-1)?.tools, false);
    });

    if (one.name === 'hostFinished') continue;
    check(
      `P80: ${name}, ${one.name}: a model that goes on calling the tool when it has to answer runs no search and still answers`,
      async (host) => {
        let stubborn = 1;
        const ran = await runHost(host, {
          ...one,
          model: (request, at) => (!request.tools && stubborn-- > 0 ? { search: ['once more'] } : searching(request, at)),
        });
        assert.deepEqual([ran.session.stoppedBy, ran.searches.length, ran.answer], [expected.stoppedBy, expected.searches, ANSWER]);
        assert.ok(!ran.searches.includes('once more'));
      },
    );
  }

  check(
    `P85: ${name}: a model that ends before coverage is told once to go on, in its next request, and its early text is not the answer`,
    async (host) => {
      const early: Model = (request, at) => (at === 1 ? { text: 'Too early.' } : searching(request, at));
      const ran = await runHost(host, { decider: ({ loop }) => loop === 2, model: early, options: { forceContinue: true } });
      assert.deepEqual([ran.session.stoppedBy, ran.searches.length, ran.answer], ['covered', 2, ANSWER]);
      // Search, early text, search after the message, answer.
      assert.deepEqual(
        ran.requests.map((request) => timesSaid(request, CONTINUE_MESSAGE)),
        [0, 0, 1, 1],
      );
      assert.ok(ran.requests[2]?.messages.some(({ text }) => text.includes('Too early.')));
    },
  );

  check(`P85: ${name}: one that ends again without a search has its word`, async (host) => {
    const resting: Model = (_request, at) => (at === 0 ? { search: ['query 1'] } : { text: `My own end, ${at}.` });
    const ran = await runHost(host, { decider: () => false, model: resting, options: { forceContinue: true } });
    assert.deepEqual([ran.session.stoppedBy, ran.searches.length, ran.answer], ['hostFinished', 1, 'My own end, 2.']);
    assert.equal(ran.requests.length, 3);
  });

  check(`P95: ${name}: a decider's failure under onError throw comes out once, typed`, async (host) => {
    const seen: Partial<Ran> = {};
    const failed = runHost(host, { decider: failing, options: { onError: 'throw' } }, seen);
    await assert.rejects(failed, (error) => error instanceof GateDeciderError && error.message === 'decider failed: no connection');
    assert.deepEqual([seen.deciderCalls, seen.searches?.length, seen.session?.stoppedBy], [1, 1, 'error']);
  });

  check(`P95: ${name}: a decider's failure under onError continue is counted, and the run goes on`, async (host) => {
    const flaky: Script = ({ loop }) => (loop === 1 ? failing({ session: '', loop, texts: [] }) : loop === 3);
    const ran = await runHost(host, { decider: flaky });
    assert.deepEqual([ran.session.stoppedBy, ran.searches.length, ran.answer, ran.session.state.errors], ['covered', 3, ANSWER, 1]);
  });

  check(`${name}: parallel searches of one step run one after another, and none after coverage`, async (host) => {
    const ran = await runHost(host, {
      decider: ({ loop }) => loop === 2,
      model: ({ tools }) => (tools ? { search: ['a', 'b', 'c', 'd'] } : { text: ANSWER }),
    });
    assert.deepEqual([ran.session.stoppedBy, ran.searches, ran.answer], ['covered', ['a', 'b'], ANSWER]);
    assert.equal(ran.requests.length, 2);
  });

  check(`${name}: an empty answer is asked for once more`, async (host) => {
    let silent = 1;
    const ran = await runHost(host, {
      decider: () => true,
      model: (request, at) => (!request.tools && silent-- > 0 ? { text: '' } : searching(request, at)),
    });
    assert.deepEqual([ran.answer, ran.searches.length, ran.requests.length], [ANSWER, 1, 3]);
  });

  check(`${name}: an answer that is empty twice is an error, and none is made up`, async (host) => {
    const seen: Partial<Ran> = {};
    const silent: Model = (request, at) => (request.tools ? searching(request, at) : { text: ' ' });
    await assert.rejects(runHost(host, { decider: () => true, model: silent }, seen), EmptyAnswerError);
    assert.deepEqual([seen.session?.stoppedBy, seen.requests?.length], ['covered', 3]);
  });

  check(`${name}: tokens that the host's model took count against the budget`, async (host) => {
    if (host.tokensOfRequest === null) return;
    const ran = await runHost(host, { decider: () => false, options: { bounds: { maxTokens: 2 * host.tokensOfRequest } } });
    assert.deepEqual([ran.session.stoppedBy, ran.session.bound, ran.answer], ['budget', 'maxTokens', ANSWER]);
    // Noticed when the second step's tokens are told, before the third request.
    assert.deepEqual([ran.searches.length, ran.requests.length], [2, 3]);
  });
}

function timesSaid(request: ModelRequest | undefined, text: string): number {
  return (request?.messages ?? []).reduce((times, message) => times + message.text.split(text).length - 1, 0);
}
