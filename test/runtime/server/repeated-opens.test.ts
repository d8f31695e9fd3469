import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openService } from '../../../runtime/server/index.js';
import { scriptedGate } from '../../support/scripted-gate.js';

test('an opening that is sent again while the first is under way opens one session, which the log has once', async () => {
  const { gate, read } = scriptedGate(() => false);
  const service = openService({ gate });
  const request = { question: 'Who?', session: 'a' };
  const [first, again] = await Promise.all([service.openSession(request), service.openSession(request)]);
  assert.deepEqual(again, first);
  assert.equal(service.open.sessions, 1);
  assert.equal(read().sessions.length, 1);
});

test('another question under an id whose opening is under way is refused, and the first goes through', async () => {
  const { gate, read } = scriptedGate(() => false);
  const service = openService({ gate });
  const [first, other] = await Promise.allSettled([
    service.openSession({ question: 'Who?', session: 'a' }),
    service.openSession({ question: 'Where?', session: 'a' }),
  ]);
  assert.equal(first.status, 'fulfilled');
  assert.equal(other.status, 'rejected');
  assert.match(String(other.status === 'rejected' && other.reason), /session a: is open with another question or other bounds$/);
  assert.equal(read().sessions.length, 1);
});

test('an opening that failed leaves its id free', async () => {
  let asked = 0;
  const { gate } = scriptedGate(() => false, {
    onError: 'throw',
    claims: {
      source: 'heuristic',
      make: () => {
        if (asked++ === 0) throw new Error('the model is gone');
        return Promise.resolve(['1,0,0']);
      },
    },
  });
  const service = openService({ gate });
  const request = { question: 'Who?', session: 'a' };
  const both = await Promise.allSettled([service.openSession(request), service.openSession(request)]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal(asked, 1);
  assert.equal((await service.openSession(request)).claims, 1);
});
