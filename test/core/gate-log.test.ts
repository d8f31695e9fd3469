import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { gateLogFile } from '../../runtime/index.js';
import { readGateLog } from '../../src/core/gate-log.js';
import { temporaryFile } from '../support/files.js';
import { scriptedGate } from '../support/scripted-gate.js';

async function loggedFile(): Promise<string> {
  const path = await temporaryFile('gate.jsonl', '');
  const log = gateLogFile(path);
  const { gate } = scriptedGate(({ loop }) => loop === 2, { log });
  for (const id of ['a', 'b']) {
    const session = await gate.open('Who?', { id });
    await session.observe(['1,1,0']);
    await session.observe(['0,1,0']);
  }
  log.close();
  return path;
}

test('a log is read back as its sessions, and a second process appends to it', async () => {
  const path = await loggedFile();
  const log = gateLogFile(path);
  await (await scriptedGate(() => false, { log, label: 'second' }).gate.open('What?', { id: 'c' })).observe(['1,0,0']);
  log.close();
  const read = await readGateLog(path);
  assert.deepEqual(
    read.sessions.map(({ open, loops, end }) => [open.session, loops.length, end?.stopped_by ?? null]),
    [
      ['a', 2, 'covered'],
      ['b', 2, 'covered'],
      ['c', 1, null],
    ],
  );
  assert.deepEqual([read.gates.size, read.torn], [2, 0]);
});

test('a line that a kill tore is counted, at the end and before the next process', async () => {
  const path = await loggedFile();
  const whole = await readFile(path, 'utf8');
  await writeFile(path, whole.slice(0, -30));
  assert.deepEqual([(await readGateLog(path)).torn, (await readGateLog(path)).sessions[1]?.end], [1, null]);
  const log = gateLogFile(path);
  await scriptedGate(() => false, { log, label: 'second' }).gate.open('What?', { id: 'c' });
  log.close();
  const read = await readGateLog(path);
  assert.deepEqual([read.torn, read.sessions.length], [1, 3]);
});

test('what is gone in the middle is counted, and its session has a gap; the others are whole', async () => {
  const path = await loggedFile();
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  const at = (event: string): number => lines.findIndex((line) => line.includes(`"event":"${event}"`));
  const read = async (changed: string[]): Promise<{ torn: number; strays: number; gaps: boolean[] }> => {
    await writeFile(path, `${changed.join('\n')}\n`);
    const { torn, strays, sessions } = await readGateLog(path);
    return { torn, strays, gaps: sessions.map(({ gap }) => gap) };
  };
  const loop = at('loop');
  assert.deepEqual(await read(lines), { torn: 0, strays: 0, gaps: [false, false] });
  // Session a's first loop: torn, or lost with nothing left of it.
  assert.deepEqual(await read(lines.with(loop, (lines[loop] as string).slice(0, 40))), { torn: 1, strays: 0, gaps: [true, false] });
  assert.deepEqual(await read(lines.toSpliced(loop, 1)), { torn: 0, strays: 0, gaps: [true, false] });
  // Its last loop: only its end knows that there was one.
  const last = lines.findLastIndex((line) => line.includes('"event":"loop"') && line.includes('"session":"a"'));
  assert.deepEqual(await read(lines.toSpliced(last, 1)), { torn: 0, strays: 0, gaps: [true, false] });
  // Its opening: claims, two loops and the end belong to nobody.
  assert.deepEqual(await read(lines.toSpliced(at('open'), 1)), { torn: 0, strays: 4, gaps: [false] });
  // The header: nothing can be read without it.
  assert.deepEqual(await read(lines.toSpliced(0, 1)), { torn: 0, strays: 10, gaps: [] });
});

test('JSON that is no event, and a file that is no gate log at all, are refused with their line', async () => {
  const path = await loggedFile();
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  const loop = lines.findIndex((line) => line.includes('"event":"loop"'));
  await writeFile(path, lines.with(loop, (lines[loop] as string).replace('"margin"', '"margins"')).join('\n'));
  await assert.rejects(readGateLog(path), new RegExp(`line ${loop + 1}, field margin`));
  const other = await temporaryFile('notes.txt', 'no log\nat all\n');
  await assert.rejects(readGateLog(other), { message: `${other}, line 1: got "no log", expected one JSON object` });
});

test('a line that could not be written whole spoils no other, and what is written behind the end is lost, counted', async () => {
  const path = await temporaryFile('gate.jsonl', '');
  const log = gateLogFile(path);
  const { gate } = scriptedGate(() => false, { log });
  const circular: { event: string; self?: unknown } = { event: 'loop' };
  circular.self = circular;
  log.write(circular as never);
  const session = await gate.open('Who?', { id: 'a' });
  await session.observe(['1,0,0']);
  log.close();
  session.finish();
  log.close();
  assert.deepEqual([log.lost.events, log.lost.reason], [2, 'the log was closed before']);
  const read = await readGateLog(path);
  assert.deepEqual([read.torn, read.sessions[0]?.loops.length, read.sessions[0]?.end], [0, 1, null]);
});
