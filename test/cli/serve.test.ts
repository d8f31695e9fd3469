import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { readGateLog } from '../../src/core/gate-log.js';
import { completion, serveChat } from '../support/chat-server.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { testHome } from '../support/encoder-cache.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { ended, serveProcess } from '../support/serve-load.js';
import { skippedInSecondPass } from '../support/second-pass.js';
import { ask } from '../support/serving.js';

const env = { HOPGATE_HOME: testHome };

test('a calibrated profile enforces over HTTP, and the log that it writes can be reported', async () => {
  const folder = await temporaryFolder();
  const run = join(folder, 'run');
  const file = await temporaryFile('small.json', JSON.stringify(hotpotqaQuestions(12)));
  await hopgateJson(['trajectories', 'run', file, '--agent', 'chain', '--budget', '3', '--out', run]);
  await hopgateJson(['claims', 'build', run, '--source', 'heuristic']);
  await hopgateJson(['embed', run], { env });
  await hopgateJson(['decide', run, '--decider', 'gold']);
  const calibration = join(folder, 'calibration');
  await hopgateJson(['calibrate', run, '--decider', 'gold', '--claims', 'heuristic', '--guarantee', '0.1', '--out', calibration]);
  const log = join(folder, 'gate.jsonl');
  const flags = [
    '--profile',
    calibration,
    '--mode',
    'enforce',
    '--audit-skips',
    '0',
    '--audit-questions',
    '0',
    '--transfer',
    '--log',
    log,
    '--ui',
  ];
  const served = await serveProcess(flags, env);
  const send = (method: string, path: string, json?: unknown) => ask(served.address, method, path, json === undefined ? {} : { json });
  const { port } = new URL(served.address);
  const taken = await hopgate(['serve', '--port', port], { env });
  assert.deepEqual(
    [taken.code, taken.stderr.trim().split('\n').at(-1)],
    [2, `hopgate: cannot listen on 127.0.0.1, port ${port}: something else listens there`],
  );
  await send('POST', '/v1/sessions', { question: 'Which river runs through the town of the composer?', session: 'q' });
  const seen = await send('POST', '/v1/sessions/q/observe', { evidence: 'It is an old town. Nothing is known of it.' });
  assert.equal(seen.status, 200, seen.text);
  assert.ok(['skip', 'call'].includes(seen.body.action as string));
  const { headers, text } = await send('GET', '/ui');
  assert.match(headers['content-type'] as string, /^text\/html/);
  assert.match(text, /<!doctype html>/i);
  await send('DELETE', '/v1/sessions/q');
  await ended(served, 'SIGTERM');
  assert.equal(served.child.exitCode, 0);
  const { gates, sessions } = await readGateLog(log);
  const [gate] = gates.values();
  assert.equal(gate?.settings.mode, 'enforce');
  assert.deepEqual([sessions.length, sessions[0]?.end?.stopped_by], [1, 'hostFinished']);
  await hopgateJson(['report', '--from-log', log, '--profile', calibration, '--out', join(folder, 'report')]);
});

test('claims and verdicts of one language model share its budget, and a budget that is used up is a failure of the decider’s', async (t) => {
  const server = await serveChat(t, () => completion('[{"expected_claim": "The town"}, {"expected_claim": "Its river"}]'));
  const flags = [
    '--decider',
    'host',
    '--claims',
    'generated',
    '--llm',
    'tiny',
    '--llm-url',
    server.url,
    '--budget-calls',
    '1',
    '--no-reply-cache',
  ];
  const served = await serveProcess(flags, { ...env, HOPGATE_API_KEY: 'k' });
  const open = (session: string) =>
    ask(served.address, 'POST', '/v1/sessions', { json: { question: `Which river is number ${session}?`, session } });
  const [first, second] = [await open('a'), await open('b')];
  assert.ok((first.body.claims as number) > 0, first.text);
  // Its claims could not be paid: the gate cannot speak, so every loop of it is called.
  assert.deepEqual([second.status, second.body.claims, second.body.errors], [201, 0, 1]);
  await ended(served, 'SIGTERM');
});

test('flags that would be of no effect, or that are wrong, are refused by name', async (t) => {
  if (skippedInSecondPass(t)) return;
  const cases: [string[], string][] = [
    [['--mode', 'enforce'], '--profile: expected one with --mode enforce; run in shadow first, and calibrate --from-log'],
    [['--model', 'x'], '--model: of no use with --decider host'],
    [['--decider', 'small'], '--model: expected the folder of a small verifier for --decider small'],
    [['--threshold', '0.5', '--decider', 'small'], '--threshold: of no use with --decider small'],
    [['--llm', 'x'], '--llm: of no use without --decider judge or --claims generated'],
    [['--claim-source', 'gold'], '--claim-source: of no use without --claims client'],
    [['--audit-skips', '0.1'], '--audit-skips: of no use with --mode shadow, where every loop is called'],
    [['--transfer'], '--transfer: of no use without --profile'],
    [['--content'], '--content: of no use without --log, --ui or --otel'],
    [['--steps', '0'], '--steps: got 0, expected a whole number of at least 1'],
    [['--port', '-1'], '--port: got -1, expected a whole number of at least 0'],
    [['--token-env', 'HOPGATE_BAD'], 'HOPGATE_BAD: the token holds white space, expected a word'],
    [['--host', '0.0.0.0', '--port', '0'], 'address 0.0.0.0: expected a token, which any other address than loopback needs'],
    [['--host', '192.0.2.7', '--port', '0'], 'address 192.0.2.7: expected a token, which any other address than loopback needs'],
    [['--port', '99999'], 'cannot listen on 127.0.0.1, port 99999: expected a port from 0 to 65535'],
    [['--log', '/nowhere/gate.jsonl'], '/nowhere/gate.jsonl: no such file'],
  ];
  for (const [flags, message] of cases) {
    const { code, stderr } = await hopgate(['serve', ...flags], { env: { ...env, HOPGATE_BAD: 'two words', HOPGATE_TOKEN: '' } });
    assert.deepEqual([code, stderr.trim().split('\n').at(-1)], [2, `hopgate: ${message}`]);
  }
});
