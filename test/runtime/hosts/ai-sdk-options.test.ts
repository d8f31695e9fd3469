import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  type CoverageSettings,
  decisionDecider,
  generateWithCoverageStop,
  streamWithCoverageStop,
  verifierModel,
  withCoverageStop,
} from '../../../runtime/hosts/ai-sdk.js';
import { finalInstruction, liveClaimsDecider, refusedSearch } from '../../../runtime/index.js';
import { InputError } from '../../../src/core/errors.js';
import { type ModelRequest, runHost } from '../../support/host-matrix.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { TWO_CLAIMS, scriptedGate } from '../../support/scripted-gate.js';
import { aiHost, openAi } from './ai-sdk-host.js';

const VERSIONS = [
  { name: 'ai 6', example: 'ai-sdk-6', mock: 'MockLanguageModelV3' },
  { name: 'ai 7', example: 'ai-sdk-7', mock: 'MockLanguageModelV4' },
] as const;

type Opened = Awaited<ReturnType<typeof openAi>>;

const QUESTION = 'Where was the director of the film born?';

test('P81: the request for the answer forbids tools by the choice and leaves the list alone; where a choice is not wanted the list is emptied, or nothing is', async () => {
  const { gate } = scriptedGate(() => true, { mode: 'shadow' });
  const session = await gate.open(QUESTION);
  const finalStep = async (settings: CoverageSettings): Promise<unknown> => {
    const tools = { search: { execute: () => ['1,1,0'] } };
    const own = { tools, prepareStep: () => ({ temperature: 0, toolChoice: 'required', activeTools: ['search'] }) };
    const { prepareStep } = withCoverageStop(own, session, settings) as unknown as { prepareStep: (step: object) => Promise<unknown> };
    return prepareStep({ steps: [], messages: [{ role: 'user', content: QUESTION }] });
  };
  assert.deepEqual(await finalStep({}), { temperature: 0, toolChoice: 'required', activeTools: ['search'] });
  await session.observe(['1,1,0']);
  const messages = [{ role: 'user', content: QUESTION }, { role: 'user', content: finalInstruction(session) }]; // prettier-ignore
  assert.deepEqual(await finalStep({}), { temperature: 0, toolChoice: 'none', activeTools: ['search'], messages });
  assert.deepEqual(await finalStep({ finalStep: 'noTools' }), { temperature: 0, toolChoice: 'auto', activeTools: [], messages });
  assert.deepEqual(await finalStep({ finalStep: 'instruction' }), {
    temperature: 0,
    toolChoice: 'auto',
    activeTools: ['search'],
    messages,
  });
});

for (const { name, example, mock } of VERSIONS) {
  const check = (title: string, body: (opened: Opened) => Promise<void>): void => {
    test(title, async (t: TestContext) => {
      const packages = hostPackagesOrSkip(t, example);
      if (packages) await body(await openAi(packages, mock));
    });
  };

  for (const finalStep of ['noTools', 'instruction'] as const) {
    check(
      `P82: ${name}: with finalStep ${finalStep} no choice is forced, and a model that goes on calling the tool still answers`,
      async (opened) => {
        // Two requests for the answer in one call of the host: the first is answered by a call of the tool.
        let finals = 0;
        const ran = await runHost(aiHost(opened, 'generateText', { finalStep }), {
          decider: ({ loop }) => loop === 2,
          model: ({ messages }, at) => {
            const asked = messages.some(({ text }) => text.includes('Do not search again.'));
            if (!asked || finals++ === 0) return { search: [`query ${at}`] };
            return { text: 'Found.' };
          },
        });
        assert.deepEqual([ran.session.stoppedBy, ran.searches, ran.answer], ['covered', ['query 0', 'query 1'], 'Found.']);
        assert.equal(ran.requests.length, 4);
        assert.deepEqual(
          ran.requests.map(({ tools }) => tools),
          [true, true, finalStep === 'instruction', finalStep === 'instruction'],
        );
      },
    );
  }

  check(`P80: ${name}: a model that calls whatever tool it is shown is asked a second time with none in sight`, async (opened) => {
    const ran = await runHost(aiHost(opened, 'generateText'), {
      decider: () => true,
      model: ({ listed = 0 }, at) => (listed > 0 ? { search: [`query ${at}`] } : { text: 'Found.' }),
    });
    assert.deepEqual([ran.answer, ran.searches, ran.requests.map(({ listed }) => listed)], ['Found.', ['query 0'], [1, 1, 0]]);
  });

  check(`${name}: the user's own stop condition ends the search, and the answer still comes`, async ({ ai, mockModel, z }) => {
    const { gate } = scriptedGate(() => false, { mode: 'shadow' });
    const session = await gate.open(QUESTION);
    const requests: ModelRequest[] = [];
    const search = ai.tool({ inputSchema: z.object({ query: z.string() }), execute: () => [`${requests.length} 1,0,0`] });
    const model = mockModel((request, at) => {
      requests.push(request);
      return request.tools ? { search: [`${at}`] } : { text: 'Found.' };
    });
    const prepared: number[] = [];
    const result = (await ai.generateText(
      withCoverageStop(
        {
          model,
          prompt: QUESTION,
          tools: { search },
          stopWhen: ai.stepCountIs(2),
          prepareStep: ({ stepNumber }: { stepNumber: number }) => {
            prepared.push(stepNumber);
            return { toolChoice: stepNumber === 0 ? 'required' : 'auto' };
          },
        },
        session,
      ),
    )) as { text: string; steps: unknown[] };
    assert.deepEqual([result.text, result.steps.length, session.stoppedBy], ['Found.', 3, 'hostFinished']);
    assert.deepEqual(prepared, [0, 1, 2]);
  });

  check(
    `P80: ${name}: once the run has stopped no other tool runs either, and a tool’s own form for the model is not asked of a refusal`,
    async (opened) => {
      const { ai, mockModel, z } = opened;
      const { gate } = scriptedGate(() => true, { mode: 'shadow' });
      const session = await gate.open(QUESTION);
      const runs: string[] = [];
      const tool = (tag: string): object =>
        ai.tool({
          inputSchema: z.object({ query: z.string() }),
          execute: () => {
            runs.push(tag);
            return ['1,1,0'];
          },
          // It cannot read a refusal, and is not shown one.
          toModelOutput: ({ output }: { output: string[] }) => ({ type: 'text', value: output.map((one) => one.toUpperCase()).join(' ') }),
        });
      const tools = { search: tool('search'), notes: tool('notes') };
      const options = { model: mockModel(() => ({ text: '' })), prompt: QUESTION, tools };
      assert.throws(
        () => withCoverageStop(options, session),
        (error) =>
          error instanceof InputError &&
          error.message === 'search: got nothing, expected the names of the tools that search, since there are several: search, notes',
      );
      assert.throws(
        () => withCoverageStop(options, session, { search: ['find'] }),
        (error) => error instanceof InputError && error.message === 'search: got "find", expected a tool that the host runs: search, notes',
      );
      const guarded = withCoverageStop(options, session, { search: ['search'] }).tools as {
        [name: string]: { execute: (input: object) => unknown; toModelOutput: (given: object) => { value: string } };
      };
      assert.deepEqual(await guarded.search?.execute({ query: 'q' }), ['1,1,0']);
      const refused = await guarded.notes?.execute({ query: 'q' });
      assert.deepEqual([refused, runs], [refusedSearch(session), ['search']]);
      assert.equal(guarded.notes?.toModelOutput({ output: refused }).value, refused);
      assert.equal(guarded.search?.toModelOutput({ output: ['a'] }).value, 'A');
    },
  );

  check(
    `${name}: a tool that is left to the user keeps the session open, and the next call goes on with it`,
    async ({ ai, mockModel, z }) => {
      const { gate } = scriptedGate(({ loop }) => loop === 1, { mode: 'shadow' });
      const session = await gate.open(QUESTION);
      const inputSchema = z.object({ query: z.string() });
      const tools = { ask: ai.tool({ inputSchema }), search: ai.tool({ inputSchema, execute: () => ['1,1,0'] }) };
      const asking = mockModel(() => ({ call: 'ask', search: ['which film?'] }));
      const first = await generateWithCoverageStop(ai.generateText, { model: asking, prompt: QUESTION, tools }, session);
      assert.deepEqual([first.open, first.answer, first.stoppedBy], [true, '', null]);
      const searching = mockModel((request) => (request.tools ? { search: ['film'] } : { text: 'Found.' }));
      const second = await generateWithCoverageStop(ai.generateText, { model: searching, prompt: QUESTION, tools }, session);
      assert.deepEqual([second.open, second.answer, second.stoppedBy], [false, 'Found.', 'covered']);
    },
  );

  check(`${name}: a host that fails ends the session with an error, and its own error comes out`, async ({ ai, mockModel, z }) => {
    const { gate } = scriptedGate(() => false, { mode: 'shadow' });
    const session = await gate.open(QUESTION);
    const tools = { search: ai.tool({ inputSchema: z.object({ query: z.string() }), execute: () => ['1,1,0'] }) };
    const model = mockModel(() => {
      throw new TypeError('the provider is gone');
    });
    const run = generateWithCoverageStop(ai.generateText, { model, prompt: QUESTION, tools, maxRetries: 0 }, session);
    await assert.rejects(run, { name: 'TypeError', message: 'the provider is gone' });
    assert.equal(session.stoppedBy, 'error');
  });

  check(`${name}: a search that throws is the model's to read, and a step that brought nothing`, async ({ ai, mockModel, z }) => {
    const { gate } = scriptedGate(() => false, { mode: 'shadow', bounds: { noProgress: 2 } });
    const session = await gate.open(QUESTION);
    let read = '';
    const failing = (): never => {
      throw new Error('index offline');
    };
    const tools = { search: ai.tool({ inputSchema: z.object({ query: z.string() }), execute: failing }) };
    const model = mockModel(({ messages, tools: may }) => {
      read = messages.map(({ text }) => text).join('\n');
      return may ? { search: ['film'] } : { text: 'Nothing was found.' };
    });
    const { answer, stoppedBy } = await generateWithCoverageStop(ai.generateText, { model, prompt: QUESTION, tools }, session);
    assert.deepEqual([answer, stoppedBy, session.state.loops], ['Nothing was found.', 'noProgress', 2]);
    assert.match(read, /index offline/);
  });

  check(`${name}: the answer is streamed as it comes, and cancelling the stream aborts the host`, async ({ ai, mockModel, z }) => {
    const { gate } = scriptedGate(() => true, { mode: 'shadow' });
    const inputSchema = z.object({ query: z.string() });
    const tools = { search: ai.tool({ inputSchema, execute: () => ['1,1,0'] }) };
    const model = mockModel((request) => (request.tools ? { search: ['film'] } : { text: 'It was in Lyon.' }));
    const streamed = streamWithCoverageStop(ai.streamText, { model, prompt: QUESTION, tools }, await gate.open(QUESTION));
    const pieces: string[] = [];
    for await (const piece of streamed.textStream) pieces.push(piece);
    assert.deepEqual(pieces, ['It ', 'was ', 'in ', 'Lyon.']);
    assert.equal((await streamed.done).answer, 'It was in Lyon.');

    const session = await gate.open(QUESTION);
    const execute = (_: unknown, { abortSignal }: { abortSignal: AbortSignal }): Promise<never> => aborted(abortSignal);
    const waiting = { search: ai.tool({ inputSchema, execute }) };
    const { textStream, done } = streamWithCoverageStop(
      ai.streamText,
      { model, prompt: QUESTION, tools: waiting, onError: () => undefined },
      session,
    );
    await textStream.cancel(new Error('gone'));
    await assert.rejects(done);
    assert.equal(session.stoppedBy, 'error');
  });

  check(
    `${name}: evidence and query come from where the settings say, and evidence of no known form fails the run, not the tool`,
    async (opened) => {
      const { ai, mockModel, z } = opened;
      const { gate, log } = scriptedGate(() => true, { mode: 'shadow', content: true });
      const run = async (settings: CoverageSettings): Promise<string | null> => {
        const session = await gate.open(QUESTION);
        const search = ai.tool({
          inputSchema: z.object({ query: z.string() }),
          execute: () => ({ hits: [{ title: 'Page', text: '1,1,0' }] }),
        });
        const model = mockModel(({ tools }) => (tools ? { search: ['who?'] } : { text: 'Found.' }));
        await ai.generateText(withCoverageStop({ model, prompt: QUESTION, tools: { search } }, session, settings));
        return session.stoppedBy;
      };
      const evidence = (result: unknown): { title: string; text: string }[] => (result as { hits: { title: string; text: string }[] }).hits;
      assert.equal(await run({ evidence, query: (input) => `asked: ${(input as { query: string }).query}` }), 'covered');
      const loop = log.events.find((event) => event.event === 'loop');
      assert.deepEqual([loop?.query, loop?.sentences], ['asked: who?', [{ title: 'Page', text: '1,1,0' }]]);
      await assert.rejects(
        run({}),
        (error) => error instanceof InputError && error.message === 'evidence: got object, expected a text or a list of sentences',
      );
    },
  );
}

/** Never resolves; rejects when it is told to stop. */
function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error));
  });
}

test('ai 7: the verifier answers as a decision model, claim by claim, and decides as itself', async (t) => {
  const packages = hostPackagesOrSkip(t, 'ai-sdk-7');
  if (!packages) return;
  type Decide = (options: object) => Promise<{
    answers: { [id: string]: { type: 'boolean'; probability: number } } & { covered: { type: 'boolean'; probability: number } };
    usage: { inputTokens: number | undefined; outputTokens: number | undefined };
  }>;
  const { experimental_decide: decide } = await packages.load<{ experimental_decide: Decide }>('ai');
  // A claim is matched by a sentence that holds its text.
  const words = liveClaimsDecider({
    name: 'words',
    identity: { decider: 'words' },
    score: ({ claims }, pairs) =>
      Promise.resolve(
        pairs.map(({ claim, sentence }) => {
          const match = sentence.text.includes(claims?.[claim]?.expected_claim ?? '-');
          return { lp_match: match ? -0.1 : -3, lp_partial: -2, lp_null: match ? -3 : -0.1, p: null };
        }),
      ),
  });
  const model = verifierModel(words);
  const evidence = [{ title: 'A', text: 'This long sentence holds 1,0,0 and no more.' }];
  const question = (type: string): object => ({ type, instructions: 'Is it established?' });
  const { answers } = await decide({
    model,
    state: { question: QUESTION, claims: ['1,0,0', '0,1,0'], evidence },
    questions: { covered: question('boolean'), claim_1: question('boolean'), claim_2: question('boolean') },
  });
  assert.deepEqual([answers.covered.probability, answers.claim_1?.probability, answers.claim_2?.probability], [0, 1, 0]);
  const fails = (state: unknown, questions: object, message: string): Promise<void> =>
    assert.rejects(decide({ model, state, questions, maxRetries: 0 }), (error) => error instanceof InputError && error.message === message);
  const state = { question: QUESTION, claims: ['1,0,0'], evidence };
  await fails(state, { claim_2: question('boolean') }, 'questions: got "claim_2", expected covered or claim_1 to claim_1');
  await fails(
    'some text',
    { covered: question('boolean') },
    'state: expected one object { question, claims?, evidence: { title?, text }[] }',
  );
  await fails(
    { ...state, claims: [] },
    { covered: question('boolean') },
    'state.claims: got none, expected at least one: words reads claims',
  );
  await assert.rejects(
    decide({ model, state, questions: { covered: { type: 'score', instructions: 'How much?', criteria: ['a', 'b'] } } }),
    {
      name: 'AI_DecisionUnsupportedQuestionTypeError',
    },
  );

  // Over the same searches it decides, asked through ai's decide, as by itself.
  const asked = decisionDecider(decide, { model, identity: 'words' });
  const verdicts = async (decider: typeof words): Promise<(boolean | null)[]> => {
    const { gate } = scriptedGate(() => false, { mode: 'shadow', decider, profile: undefined });
    const session = await gate.open(QUESTION, { claims: TWO_CLAIMS });
    const texts = ['This long sentence holds 1,0,0', 'Another long sentence brings 0,0,1', 'The last long sentence has 0,1,0'];
    const said: (boolean | null)[] = [];
    for (const text of texts) said.push((await session.observe([{ title: text.slice(0, 8), text }])).covered);
    return said;
  };
  assert.deepEqual(await verdicts(asked), [false, false, true]);
  assert.deepEqual(await verdicts(words), [false, false, true]);
});
