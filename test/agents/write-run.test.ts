import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Agent, selfAskAgent, writeRun } from '../../src/agents/index.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import type { HopRecord } from '../../src/core/records.js';
import type { ChatRequest } from '../../src/llm/index.js';
import { temporaryFolder } from '../support/files.js';
import { scriptedModel } from '../support/scripted-model.js';
import { recordOf } from '../support/trajectories.js';

async function* records(): AsyncGenerator<HopRecord> {
  for (let row = 0; row < 6; row++)
    yield recordOf([[`Page ${row}`, `one ${row}`, `two ${row}`, 'three', 'four']], {
      question_id: `q${row}`,
      row,
      question: `Which one ${row}?`,
    });
}

/** Answers late for some questions, so that they end in another order than they began. */
const model = scriptedModel(async ({ messages }: ChatRequest) => {
  const user = messages[1]?.content ?? '';
  const row = Number(/(\d)\?/.exec(user)?.[1]);
  await new Promise((resolve) => setTimeout(resolve, row % 2 === 0 ? 12 : 1));
  if (user.endsWith('Answer:')) return `found ${row}`;
  const loops = user.match(/^Follow up:/gm)?.length ?? 0;
  return loops < 1 + (row % 3) ? `Follow up: two of ${row}?` : `So the final answer is: ${row}`;
});

async function run(agent: Agent, concurrency: number): Promise<string> {
  const dir = await temporaryFolder();
  const out = await openOutputFolder({ dir, kind: 'trajectories', command: 'trajectories run', options: {}, seed: 13, inputs: [] });
  const counts = await writeRun(out, records(), () => agent, { format: 'jsonl', top: 1, concurrency });
  await out.finish({ counts: { ...counts } });
  return dir;
}

test('two interleaved runs of one agent, several questions at once, give the bytes of two serial ones', async () => {
  const agent = selfAskAgent(model);
  const forced = selfAskAgent(model, { forceContinue: true });
  const serial = [await run(agent, 1), await run(forced, 1)];
  const interleaved = await Promise.all([run(agent, 3), run(forced, 4)]);
  assert.ok(model.mostAtOnce() > 4);
  for (const [at, folder] of serial.entries()) {
    for (const name of await readdir(folder))
      assert.equal(await readFile(join(interleaved[at] as string, name), 'utf8'), await readFile(join(folder, name), 'utf8'), name);
  }
});
