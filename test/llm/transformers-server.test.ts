import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { openHttpModel } from '../../src/llm/index.js';
import { answering } from '../support/answering.js';
import { temporaryFolder } from '../support/files.js';
import { freePort } from '../support/free-port.js';
import { pythonOrSkip, runPython } from '../support/python.js';

/**
 * A server that is not ours, with random weights: what it says is no language, but how it says it is what every user of `transformers serve` gets.
 * It gives no log-probabilities of tokens; those of a reply of the documented form are read in http-model.test.ts, those of a real model in
 * gguf-model.test.ts.
 */
test(
  'transformers serve answers greedily, is stopped, and is told apart from a server with log-probabilities',
  { timeout: 300_000 },
  async (t) => {
    const python = pythonOrSkip(t, ['torch', 'transformers', 'fastapi', 'uvicorn', 'openai']);
    if (python === undefined) return;
    const folder = await temporaryFolder();
    runPython(python, 'tiny_chat_model.py', { folder });
    const port = await freePort();
    const program = 'from transformers.cli.transformers import main; main()';
    const server = spawn(python, ['-c', program, 'serve', folder, '--host', '127.0.0.1', '--port', String(port), '--device', 'cpu'], {
      stdio: 'ignore',
      env: { ...process.env, HF_HUB_OFFLINE: '1', OMP_NUM_THREADS: '1' },
    });
    t.after(() => server.kill('SIGKILL'));
    await answering(`http://127.0.0.1:${port}/health`, server);

    const model = openHttpModel({ url: `http://127.0.0.1:${port}`, model: folder });
    const request = { messages: [{ role: 'user' as const, content: 'hi' }], maxTokens: 8 };
    const reply = await model.chat(request);
    assert.equal(reply.finish, 'length');
    // <|start|>user: hi<|end|><|start|>assistant: , a token a letter: 1 + 8 + 1, 1 + 11.
    assert.deepEqual(reply.usage, { promptTokens: 22, completionTokens: 8 });
    assert.deepEqual(await Promise.all([1, 2, 3].map(() => model.chat(request))), [reply, reply, reply]);
    // This server leaves the stop string in its reply.
    const first = reply.text.slice(0, 1);
    const stopped = await model.chat({ ...request, stop: [first] });
    assert.deepEqual([stopped.text, stopped.finish], ['', 'stop']);
    await assert.rejects(model.chat({ ...request, logprobs: 0 }), {
      name: 'NoLogprobsError',
      message: `http://127.0.0.1:${port}/v1/chat/completions: a reply without log-probabilities of its tokens, which were asked for; not every server gives them`,
    });
  },
);
