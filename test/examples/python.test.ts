import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { testHome } from '../support/encoder-cache.js';
import { driver } from '../support/launched.js';
import { pythonOrSkip, runPython } from '../support/python.js';
import { repositoryRoot } from '../support/root.js';

const folder = join(repositoryRoot, 'examples', 'python');
const TOKEN = 'a-token-of-the-tests';

/** The command as a user starts it, with the built-in encoder, on a free port. */
async function served(
  t: TestContext,
  flags: readonly string[],
  env: NodeJS.ProcessEnv = {},
): Promise<{ url: string; end: () => Promise<number | null> }> {
  const server = driver(['serve', '--decider', 'host', '--port', '0', '--json', ...flags], {
    HOPGATE_HOME: testHome,
    HOPGATE_TOKEN: '',
    ...env,
  });
  t.after(() => server.child.kill('SIGKILL'));
  await server.until(/listening on http/);
  const end = (): Promise<number | null> => {
    server.child.kill('SIGTERM');
    return server.ended;
  };
  return { url: /listening on (\S+)/.exec(server.said())?.[1] as string, end };
}

test('the Python client opens, observes, rules and closes at a real server; refusals come as its own error, repeats count once', async (t) => {
  const python = pythonOrSkip(t);
  if (python === undefined) return;
  const { url, end } = await served(t, ['--claims', 'client'], { HOPGATE_TOKEN: TOKEN });
  assert.deepEqual(runPython(python, 'hopgate_client_checks.py', { url, folder, token: TOKEN }), {
    ready: true,
    first: [1, 'call', null, false, 1],
    again: [1, 'call', null, true, 1],
    ruled: [
      true,
      'covered',
      'The evidence that was found covers the question. Do not search again. Answer the question now, from what was found; if it does not suffice, say so in the answer.',
    ],
    state: { loops: 1, calls: 1, tokens: 5, sentences: 1, question_id: 'q1' },
    summary: { stopped_by: 'covered', loops: 1, calls: 1, tokens: 5 },
    closed_again: true,
    ended: { status: 410, code: 'session_ended', field: 'session' },
    unknown: { status: 404, code: 'session_unknown', field: 'session' },
    invalid: { status: 400, code: 'invalid', field: 'bounds.maxSteps' },
    unauthorised: { status: 401, code: 'unauthorized', field: 'authorization' },
    batch: [201, 404],
    unreachable: false,
  });
  assert.equal(await end(), 0);
});

test('P79: a ReAct agent in Python stops searching at coverage, and still answers', async (t) => {
  const python = pythonOrSkip(t);
  if (python === undefined) return;
  const { url, end } = await served(t, ['--claims', 'heuristic']);
  const run = spawnSync(python, [join(folder, 'react_agent.py'), '--url', url], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  const {
    answer,
    verifier_calls: calls,
    summary,
  } = JSON.parse(run.stdout) as {
    answer: string;
    verifier_calls: number;
    summary: { [field: string]: unknown };
  };
  // In shadow every search is ruled on: the second page makes it covered, and the third, which the model would read, is never searched.
  assert.deepEqual({ answer, calls }, { answer: 'Brenna', calls: 2 });
  assert.deepEqual([summary.stopped_by, summary.loops, summary.sentences], ['covered', 2, 2]);
  assert.equal(await end(), 0);
});

test('P85: a ReAct agent in Python that ends early is told to go on, once', async (t) => {
  const python = pythonOrSkip(t);
  if (python === undefined) return;
  const { url, end } = await served(t, ['--claims', 'heuristic', '--force-continue']);
  const script = `
import json, sys
sys.path.insert(0, ${JSON.stringify(folder)})
from hopgate_client import HopgateClient
from react_agent import react
prompts = []
def model(prompt):
    prompts.append(prompt)
    return "Answer: too early"
with HopgateClient(${JSON.stringify(url)}).open("Who?") as session:
    answer = react("Who?", model=model, search=lambda query: [], verifier=lambda question, found: False, session=session)
print(json.dumps({"answer": answer, "told": [prompt.count("Search for what is still missing") for prompt in prompts], "stopped_by": session.summary["stopped_by"]}))
`;
  const run = spawnSync(python, ['-c', script], { encoding: 'utf8' });
  assert.equal(run.status, 0, run.stderr);
  assert.deepEqual(JSON.parse(run.stdout), { answer: 'too early', told: [0, 1], stopped_by: 'hostFinished' });
  assert.equal(await end(), 0);
});
