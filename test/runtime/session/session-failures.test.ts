import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GateDeciderError, type Observation } from '../../../runtime/index.js';
import { gateEvent } from '../../../src/core/gate-log.js';
import { scriptedGate } from '../../support/scripted-gate.js';

const QUESTION = 'Where was the director of the film born?';

test('P95: a decider that fails is counted; the run goes on, stops, or throws once, as it was told', async () => {
  const broken = () => {
    throw new Error('the server is gone');
  };
  const going = await scriptedGate(broken).gate.open(QUESTION);
  const first = await going.observe(['1,1,0']);
  assert.deepEqual([first.covered, first.stoppedBy, first.error], [null, null, 'decider failed: the server is gone']);
  await going.observe(['0,0,1']);
  assert.equal(going.state.errors, 2);

  const stopping = await scriptedGate(broken, { onError: 'stop' }).gate.open(QUESTION);
  assert.equal((await stopping.observe(['1,1,0'])).stoppedBy, 'error');

  const throwing = await scriptedGate(broken, { onError: 'throw' }).gate.open(QUESTION, { id: 'q' });
  await assert.rejects(throwing.observe(['1,1,0']), (error) => {
    assert.ok(error instanceof GateDeciderError);
    assert.deepEqual([error.message, error.stage, error.session], ['decider failed: the server is gone', 'decider', 'q']);
    return true;
  });
  assert.equal((await throwing.observe(['0,1,0'])).stoppedBy, 'error');
});

test('a decider that hangs is given up after its time, and asked anew at the next call', async () => {
  let asked = 0;
  const { gate } = scriptedGate(() => (++asked === 1 ? new Promise<boolean>(() => undefined) : true), {
    deciderTimeout: 20,
    clock: Date.now,
  });
  const session = await gate.open(QUESTION);
  assert.equal((await session.observe(['1,1,0'])).error, 'decider failed: no answer within 20 ms');
  assert.equal((await session.observe(['1,0.9,0'])).stoppedBy, 'covered');
});

test('a question’s own time that runs out during a call is a bound, no failure of the decider’s', async () => {
  const { gate, read } = scriptedGate(() => new Promise<boolean>(() => undefined), { clock: Date.now });
  const session = await gate.open(QUESTION, { bounds: { maxMillis: 30 } });
  const seen = await session.observe(['1,1,0']);
  assert.deepEqual([seen.stoppedBy, seen.bound, seen.error, session.state.errors], ['budget', 'maxMillis', null, 0]);
  assert.equal(read().sessions[0]?.end?.errors, 0);
});

test('an encoder that fails costs the loop its margin, not the run: the decider is asked, and the sentences are encoded later', async () => {
  const { gate, encoder, calls } = scriptedGate(() => false);
  const session = await gate.open(QUESTION);
  encoder.failure = new Error('out of memory');
  const blind = await session.observe(['1,0,0']);
  assert.deepEqual([blind.margin, blind.because, blind.action, blind.error], [null, 'no_margin', 'call', 'encoder failed: out of memory']);
  encoder.failure = null;
  // Both sentences count: each claim is met exactly.
  assert.equal((await session.observe(['0,1,0'])).margin, 0);
  assert.deepEqual([calls.length, session.state.errors], [2, 1]);
});

test('a search that throws counts as one that brought nothing, and rethrows', async () => {
  const session = await scriptedGate(() => false).gate.open(QUESTION, { bounds: { noProgress: 2 } });
  const failing = () => session.search(() => Promise.reject(new Error('no index')), { evidence: () => [] });
  await assert.rejects(failing(), { message: 'no index' });
  await assert.rejects(failing(), { message: 'no index' });
  assert.deepEqual([session.stoppedBy, (await failing()).ran], ['noProgress', false]);
});

test('what a failing decider says may hold the prompt: without content only its kind is logged, with content all of it', async () => {
  const script = () => {
    throw new TypeError('400: the prompt was SECRET');
  };
  const logged = async (content: boolean): Promise<string | null | undefined> => {
    const { gate, read, log } = scriptedGate(script, { content });
    const session = await gate.open(QUESTION);
    // The host itself is told everything.
    assert.equal((await session.observe(['1,1,0'])).error, 'decider failed: 400: the prompt was SECRET');
    if (!content) assert.doesNotMatch(JSON.stringify(log.events), /SECRET/);
    return read().sessions[0]?.loops[0]?.error;
  };
  assert.deepEqual([await logged(false), await logged(true)], ['decider failed: TypeError', 'decider failed: 400: the prompt was SECRET']);
});

test('a maker of claims that hangs, throws or makes none of the right form is a failure like the decider’s, and its reason stands in the log', async () => {
  const makers: [() => Promise<never>, string][] = [
    [() => new Promise(() => undefined), 'claims failed: no answer within 30 ms'],
    [() => Promise.reject(new Error('down')), 'claims failed: Error'],
    [() => Promise.resolve(['']) as Promise<never>, 'claims failed: InputError'],
  ];
  for (const [make, error] of makers) {
    const { gate, read } = scriptedGate(() => false, { claims: { source: 'heuristic', make }, deciderTimeout: 30, clock: Date.now });
    const session = await gate.open(QUESTION);
    assert.equal(session.state.errors, 1);
    assert.equal((await session.observe(['1,1,0'])).because, 'no_claims');
    assert.deepEqual([read().sessions[0]?.loops[0]?.error, session.state.errors], [error, 1]);
    await assert.rejects(scriptedGate(() => false, { claims: { source: 'heuristic', make }, deciderTimeout: 30, onError: 'throw' }).gate.open(QUESTION), {
      name: 'GateDeciderError',
      stage: 'claims',
    }); // prettier-ignore
  }
});

test('a session that is used inside its own search is told so, where it would wait for itself for ever', async () => {
  const session = await scriptedGate(() => false).gate.open(QUESTION, { id: 'q' });
  await assert.rejects(
    session.search(() => session.observe(['1,0,0']), { evidence: () => [] }),
    {
      message: 'session q: was used inside its own search, whose end it would wait for',
    },
  );
  // Another session inside it is nothing special, and what the search left running may go on later.
  const other = await scriptedGate(() => false).gate.open(QUESTION, { id: 'r' });
  let later: Promise<Observation> | undefined;
  const search = async (): Promise<string[]> => {
    await other.observe(['1,0,0']);
    later = new Promise<void>((resolve) => setTimeout(resolve, 20)).then(() => session.observe(['0,0,1']));
    return ['0,1,0'];
  };
  assert.equal((await session.search(search, { evidence: (found) => found })).ran, true);
  assert.equal((await later)?.loop, 3);
});

test('a listener that throws costs no loop its line', async () => {
  const { gate, read } = scriptedGate(() => true);
  const session = await gate.open(QUESTION);
  const onMargin = (): never => {
    throw new Error('listener');
  };
  assert.equal((await session.observe(['1,1,0'], { onMargin })).stoppedBy, 'covered');
  assert.equal(read().sessions[0]?.end?.stopped_by, 'covered');
});

test('a verdict that is not plainly one is a failure, never coverage, and never a line that the log’s reader refuses', async () => {
  const good = { covered: false, p: null, matched: null, pairs: null, tokens: 0 };
  const verdicts: [unknown, string][] = [
    [{ ...good, covered: 'no' }, 'covered string, expected a boolean'],
    [undefined, 'covered undefined, expected a boolean'],
    [{ ...good, p: 7 }, 'p 7, expected a probability or null'],
    [{ ...good, matched: 'ab' }, 'matched string, expected a list of booleans or null'],
    [{ ...good, pairs: 1.5 }, 'pairs 1.5, expected a whole number from 0 or null'],
    [{ ...good, tokens: -5 }, 'tokens -5, expected a number from 0'],
    [{ ...good, tokens: NaN }, 'tokens NaN, expected a number from 0'],
  ];
  for (const [verdict, error] of verdicts) {
    const decider = {
      name: 'scripted',
      identity: { decider: 'scripted' },
      readsClaims: false,
      open: () => ({ call: () => Promise.resolve(verdict as never) }),
    };
    const { gate, log } = scriptedGate(() => true, { decider });
    const session = await gate.open(QUESTION);
    const seen = await session.observe(['1,1,0']);
    assert.deepEqual([seen.covered, seen.error, seen.stoppedBy], [null, `decider failed: its verdict: got ${error}`, null]);
    assert.deepEqual([session.state.errors, session.state.tokens], [1, 0]);
    for (const event of log.events) gateEvent.parse(event);
  }
  const rounded = scriptedGate(() => ({ covered: false, tokens: 12.5 }) as never);
  const session = await rounded.gate.open(QUESTION);
  await session.observe(['1,1,0']);
  assert.equal(session.state.tokens, 13);
  await assert.rejects(session.observe(['1,0,0'], { query: 7 as never }), { message: 'query: got 7, expected a text' });
});

test('an encoder that hangs is given up after its time, like the decider', async () => {
  const { gate, encoder } = scriptedGate(() => false, { deciderTimeout: 30, clock: Date.now, sharedEncoder: { timeout: 60 } });
  const session = await gate.open(QUESTION);
  encoder.encode = () => new Promise(() => undefined);
  const seen = await session.observe(['1,0,0']);
  assert.deepEqual([seen.because, seen.error], ['no_margin', 'encoder failed: no answer within 30 ms']);
});
