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

test('a damaged line in the middle, an unknown field, an event of nobody and a loop out of order are refused with their line', async () => {
  const path = await loggedFile();
  const lines = (await readFile(path, 'utf8')).trimEnd().split('\n');
  const at = (event: string): number => lines.findIndex((line) => line.includes(`"event":"${event}"`));
  const refused = async (changed: string[], message: RegExp): Promise<void> => {
    await writeFile(path, `${changed.join('\n')}\n`);
    await assert.rejects(readGateLog(path), message);
  };
  const loop = at('loop');
  await refused(lines.with(loop, (lines[loop] as string).slice(0, 40)), new RegExp(`line ${loop + 1}: got "\\{.*expected one JSON object`));
  await refused(lines.with(loop, (lines[loop] as string).replace('"margin"', '"margins"')), new RegExp(`line ${loop + 1}, field margin`));
  await refused(lines.toSpliced(at('open'), 1), /session a: was not opened before this line/);
  await refused(lines.toSpliced(loop, 1), /got loop 2 of session a, expected loop 1/);
  await refused(lines.toSpliced(0, 1), /no such header before this line/);
});

test('P88: a host that names its sessions itself may take a name again behind a restart and behind an end, and not while it is in use', async () => {
  const path = await temporaryFile('gate.jsonl', '');
  // Killed in the middle of session a: no end, and the next process knows nothing of it.
  for (const loops of [1, 2]) {
    const log = gateLogFile(path);
    const session = await scriptedGate(() => false, { log }).gate.open('Who?', { id: 'a' });
    for (let loop = 0; loop < loops; loop++) await session.observe([`${loop},1,0`]);
    if (loops === 2) {
      session.finish();
      await scriptedGate(() => false, { log }).gate.open('Who?', { id: 'a' });
    }
    log.close();
  }
  const { sessions } = await readGateLog(path);
  assert.deepEqual(
    sessions.map(({ open, loops, end }) => [open.session, loops.length, end?.stopped_by ?? null]),
    [
      ['a', 1, null],
      ['a', 2, 'hostFinished'],
      ['a', 0, null],
    ],
  );
  const text = await readFile(path, 'utf8');
  const lines = text.trimEnd().split('\n');
  const opening = lines.findLast((line) => line.startsWith('{"event":"open"')) as string;
  await writeFile(path, `${text}${opening}\n`);
  await assert.rejects(readGateLog(path), {
    message: `${path}, line ${lines.length + 1}, field session: session a: opened a second time`,
  });
});
