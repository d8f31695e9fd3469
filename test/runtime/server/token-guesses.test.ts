import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startService } from '../../../runtime/server/index.js';
import { scriptedGate } from '../../support/scripted-gate.js';

test('wrong tokens and wrong paths count as requests: no client may guess faster than it may ask', async (t) => {
  const running = await startService({
    gateOf: (log) => scriptedGate(() => false, { log }).gate,
    token: 'the-right-token',
    requestsPerMinute: 3,
  });
  t.after(() => running.close());
  const statuses: number[] = [];
  const guess = async (path: string, token: string): Promise<void> => {
    const { status } = await fetch(`${running.http.address}${path}`, { headers: { authorization: `Bearer ${token}` } });
    statuses.push(status);
  };
  await guess('/v1/sessions/a', 'wrong');
  await guess('/v1/nothing', 'wrong');
  await guess('/v1/nothing', 'the-right-token');
  await guess('/v1/sessions/a', 'wrong');
  await guess('/v1/sessions/a', 'the-right-token');
  assert.deepEqual(statuses, [401, 401, 404, 429, 429]);
  assert.equal((await fetch(`${running.http.address}/healthz`)).status, 200);
});
