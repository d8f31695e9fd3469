import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import {
  type CoverageSettings,
  generateWithCoverageStop,
  streamWithCoverageStop,
  withCoverageStop,
} from '../../../runtime/hosts/mastra.js';
import { finalInstruction, refusedSearch } from '../../../runtime/index.js';
import { type Model, type ModelRequest, hostMatrix } from '../../support/host-matrix.js';
import { hostPackagesOrSkip } from '../../support/host-packages.js';
import { scriptedGate } from '../../support/scripted-gate.js';
import { type Mastra, mastraHost, openMastra } from './mastra-host.js';

const QUESTION = 'Where was the director of the film born?';
const searching: Model = ({ tools }, at) => (tools ? { search: [`query ${at}`] } : { text: 'Found.' });

for (const by of ['generate', 'stream'] as const) {
  hostMatrix(`Mastra, ${by}`, async (t: TestContext) => {
    const packages = hostPackagesOrSkip(t, 'mastra');
    return packages && mastraHost(await openMastra(packages), by);
  });
}

function check(title: string, body: (mastra: Mastra) => Promise<void>): void {
  test(title, async (t) => {
    const packages = hostPackagesOrSkip(t, 'mastra');
    if (packages) await body(await openMastra(packages));
  });
}

/** A search tool that brings one new sentence each time. */
function searchTool({ createTool, z }: Mastra): object {
  let at = 0;
  const execute = (): string[] => [`sentence ${at++} 1,0,0`];
  return createTool({ id: 'search', description: 'Searches.', inputSchema: z.object({ query: z.string() }), execute });
}

const LIMITS: { [name: string]: object } = {
  maxSteps: { maxSteps: 2 },
  stopWhen: { stopWhen: ({ steps }: { steps: readonly unknown[] }) => steps.length === 2 },
  onIterationComplete: { onIterationComplete: ({ iteration }: { iteration: number }) => ({ continue: iteration < 2 }) },
};

for (const [name, limit] of Object.entries(LIMITS)) {
  check(`P79: Mastra: the user's own ${name} ends the search, and the answer still comes`, async (mastra) => {
    const { gate } = scriptedGate(() => false, { mode: 'shadow' });
    const session = await gate.open(QUESTION);
    const agent = mastra.agent(searching, { search: searchTool(mastra) });
    const { text, steps } = (await agent.generate(QUESTION, withCoverageStop(limit, session))) as { text: string; steps: unknown[] };
    assert.deepEqual([text, steps.length, session.stoppedBy, session.state.loops], ['Found.', 3, 'hostFinished', 2]);
  });
}

check('P82: Mastra: with finalStep instruction the tools stay on, and a model that goes on calling one still answers', async (mastra) => {
  const { gate } = scriptedGate(() => true, { mode: 'shadow' });
  const session = await gate.open(QUESTION);
  const requests: ModelRequest[] = [];
  const model: Model = (request, at) => {
    requests.push(request);
    return at < 2 ? { search: [`query ${at}`] } : { text: 'Found.' };
  };
  const agent = mastra.agent(model, { search: searchTool(mastra) });
  const end = await generateWithCoverageStop((options) => agent.generate(QUESTION, options), {}, session, { finalStep: 'instruction' });
  assert.deepEqual([end.answer, end.stoppedBy, session.state.loops], ['Found.', 'covered', 1]);
  assert.deepEqual(
    requests.map(({ tools, messages }) => [
      tools,
      messages.some(({ role, text }) => role === 'system' && text === finalInstruction(session)),
    ]),
    [[true, false], [true, true], [true, true]], // prettier-ignore
  );
  assert.ok(requests[2]?.messages.some(({ role, text }) => role === 'tool' && text.includes(refusedSearch(session))));
});

check('P80: Mastra: of several tools the searching ones are named, and no other runs after the stop', async (mastra) => {
  const { gate } = scriptedGate(() => true, { mode: 'shadow' });
  const noted: string[] = [];
  const note = mastra.createTool({
    id: 'note',
    description: 'Writes a note.',
    inputSchema: mastra.z.object({ query: mastra.z.string() }),
    execute: ({ query }: { query: string }) => noted.push(query),
  });
  const run = async (settings: CoverageSettings): Promise<string> => {
    const session = await gate.open(QUESTION);
    const turns: Model = (_, at) =>
      [{ call: 'note', search: ['a'] }, { search: ['b'] }, { call: 'note', search: ['c'] }][at] ?? { text: 'Found.' };
    const agent = mastra.agent(turns, { search: searchTool(mastra), note });
    return (await generateWithCoverageStop((options) => agent.generate(QUESTION, options), {}, session, settings)).answer;
  };
  assert.equal(await run({ search: ['search'] }), 'Found.');
  assert.deepEqual(noted, ['a']);
  await assert.rejects(run({}), {
    message: 'search: got nothing, expected the names of the tools that search, since there are several: search, note',
  });
});

check('Mastra: an input that the tool refuses brings no evidence, and the model reads why', async (mastra) => {
  const { gate } = scriptedGate(() => false, { mode: 'shadow', bounds: { noProgress: 1 } });
  const session = await gate.open(QUESTION);
  let read = '';
  const search = mastra.createTool({
    id: 'search',
    description: 'Searches.',
    inputSchema: mastra.z.object({ query: mastra.z.string().min(3) }),
    execute: () => ['1,0,0'],
  });
  const model: Model = (request) => {
    read = request.messages.map(({ text }) => text).join('\n');
    return request.tools ? { search: ['q'] } : { text: 'Nothing was found.' };
  };
  const agent = mastra.agent(model, { search });
  const { answer, stoppedBy } = await generateWithCoverageStop((options) => agent.generate(QUESTION, options), {}, session);
  assert.deepEqual([answer, stoppedBy, session.state.sentences], ['Nothing was found.', 'noProgress', 0]);
  assert.match(read, /validation/i);
});

check(
  'P95: Mastra: with the options alone a decider’s failure under onError throw fails the agent’s call and its stream',
  async (mastra) => {
    const failing = (): never => {
      throw new Error('no connection');
    };
    const { gate } = scriptedGate(failing, { mode: 'shadow', onError: 'throw' });
    const agent = (): ReturnType<Mastra['agent']> => mastra.agent(searching, { search: searchTool(mastra) });
    const called = agent().generate(QUESTION, withCoverageStop({}, await gate.open(QUESTION)));
    await assert.rejects(called, { message: 'decider failed: no connection' });
    const { fullStream } = (await agent().stream(QUESTION, withCoverageStop({}, await gate.open(QUESTION)))) as {
      fullStream: AsyncIterable<{ type: string; payload: { error?: Error } }>;
    };
    const errors: (string | undefined)[] = [];
    for await (const { type, payload } of fullStream) if (type === 'error') errors.push(payload.error?.message);
    assert.deepEqual(errors, ['decider failed: no connection']);
  },
);

check('Mastra: the answer is streamed as it comes, without what the model said before', async (mastra) => {
  const { gate } = scriptedGate(({ loop }) => loop === 2, { mode: 'shadow', forceContinue: true });
  const early: Model = (request, at) =>
    at === 1 ? { text: 'Too early.' } : request.tools ? { search: [`${at}`] } : { text: 'It was in Lyon.' };
  const agent = mastra.agent(early, { search: searchTool(mastra) });
  const { textStream, done } = streamWithCoverageStop((options) => agent.stream(QUESTION, options), {}, await gate.open(QUESTION));
  const pieces: string[] = [];
  for await (const piece of textStream) pieces.push(piece);
  assert.deepEqual(pieces, ['It ', 'was ', 'in ', 'Lyon.']);
  assert.equal((await done).answer, 'It was in Lyon.');
});
