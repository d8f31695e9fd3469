import assert from 'node:assert/strict';
import { test } from 'node:test';
import { GateDeciderError, type Observation } from '../../../runtime/index.js';
import { InputError } from '../../../src/core/errors.js';
import { gateEvent } from '../../../src/core/gate-log.js';
import { TWO_CLAIMS, numberProfile, scriptedGate } from '../../support/scripted-gate.js';

const QUESTION = 'Where was the director of the film born?';
const short = ({ action, because, margin, covered, stoppedBy }: Observation) => ({ action, because, margin, covered, stoppedBy });

test('a margin above τ skips the decider, one at or below τ calls it, and its word stops the run', async () => {
  const { gate, calls, read } = scriptedGate(({ texts }) => texts.includes('0.8,0.6,0') && texts.includes('0,1,0'));
  const session = await gate.open(QUESTION, { id: 's' });
  // The second claim has a cosine of 0.6 with it: 1 − 0.6 = 0.4 = τ, so the first loop calls and equality is a call.
  assert.deepEqual(short(await session.observe(['0.8,0.6,0'])), {
    action: 'call', because: 'gate', margin: 0.4, covered: false, stoppedBy: null,
  }); // prettier-ignore
  const other = await gate.open(QUESTION, { id: 't' });
  // Only the first claim is near: 1 − 0 = 1.
  assert.deepEqual(short(await other.observe(['1,0,0'])), { action: 'skip', because: 'gate', margin: 1, covered: null, stoppedBy: null });
  assert.deepEqual(short(await session.observe(['0,1,0'])), {
    action: 'call', because: 'gate', margin: 0.2, covered: true, stoppedBy: 'covered',
  }); // prettier-ignore
  assert.deepEqual(calls, [{ session: 's', loop: 1 }, { session: 's', loop: 2 }]); // prettier-ignore
  assert.equal(other.stoppedBy, null);
  const [first] = read().sessions;
  assert.deepEqual(
    first?.loops.map(({ margin, asked, covered }) => ({ margin, asked, covered })),
    [
      { margin: 0.4, asked: true, covered: false },
      { margin: 0.2, asked: true, covered: true },
    ],
  );
  assert.equal(first?.end?.stopped_by, 'covered');
});

test('after the stop nothing is observed, searched or called any more', async () => {
  const { gate, calls, log } = scriptedGate(() => true);
  const session = await gate.open(QUESTION);
  await session.observe(['1,1,0']);
  const lines = log.events.length;
  let searched = 0;
  const after = await session.search(() => searched++, { evidence: () => ['0,0,1'] });
  assert.equal(after.ran, false);
  assert.deepEqual(short(after.observation), { action: 'skip', because: 'stopped', margin: 0.292893, covered: true, stoppedBy: 'covered' });
  assert.equal((await session.observe(['0,0,1'])).loop, 1);
  assert.equal(session.nativeStop(), null);
  assert.equal(session.finish('error').stopped_by, 'covered');
  assert.deepEqual([searched, calls.length, log.events.length, session.state.sentences], [0, 1, lines, 1]);
});

test('in shadow the decider is called at every loop, and the log says what the gate would have done', async () => {
  const { gate, calls, read } = scriptedGate(({ loop }) => loop === 2, { mode: 'shadow' });
  const session = await gate.open(QUESTION);
  assert.equal((await session.observe(['1,0,0'])).because, 'shadow');
  assert.equal((await session.observe(['0.9,0.1,0'])).stoppedBy, 'covered');
  assert.equal(calls.length, 2);
  assert.deepEqual(
    read().sessions[0]?.loops.map(({ decision, asked }) => [decision, asked]),
    [['skip', true], ['skip', true]], // prettier-ignore
  );
});

test('a shadow session that runs on is asked about every loop after a fire too', async () => {
  const { gate, read } = scriptedGate(() => true, { mode: 'shadow' });
  const session = await gate.open(QUESTION, { runOn: true, bounds: { maxSteps: 3 } });
  for (const text of ['1,0,0', '0,1,0', '0,0,1']) await session.observe([text]);
  assert.equal(session.stoppedBy, 'maxSteps');
  const [logged] = read().sessions;
  assert.deepEqual([logged?.loops.map(({ covered }) => covered), logged?.end?.stopped_by], [[true, true, true], 'maxSteps']);
  const { gate: enforcing } = scriptedGate(() => true);
  await assert.rejects(enforcing.open(QUESTION, { runOn: true }), {
    message: 'runOn: only a gate in shadow may watch an agent that goes on after a fire',
  });
});

test('P87: every bound is the gate’s own, says its name, and is no coverage', async () => {
  const never = () => false;
  const steps = await scriptedGate(never).gate.open(QUESTION, { bounds: { maxSteps: 2 } });
  await steps.observe(['1,0,0']);
  assert.equal(steps.stoppedBy, null);
  assert.equal((await steps.observe(['0,1,0'])).stoppedBy, 'maxSteps');

  const idle = await scriptedGate(never).gate.open(QUESTION, { bounds: { noProgress: 2 } });
  for (const found of [['1,0,0'], ['1,0,0'], ['1,0,0']]) await idle.observe(found);
  assert.deepEqual([idle.stoppedBy, idle.bound, idle.state.loops, idle.state.sentences], ['noProgress', 'noProgress', 3, 1]);

  const calls = scriptedGate(never);
  const called = await calls.gate.open(QUESTION, { bounds: { maxCalls: 1 } });
  await called.observe(['1,1,0']);
  // The gate would call at the second loop, and may not.
  assert.deepEqual(short(await called.observe(['0,0,1'])), {
    action: 'skip', because: 'stopped', margin: 0.292893, covered: null, stoppedBy: 'budget',
  }); // prettier-ignore
  assert.deepEqual([called.bound, calls.calls.length], ['maxCalls', 1]);

  const tokens = await scriptedGate(never).gate.open(QUESTION, { bounds: { maxTokens: 100 } });
  tokens.spend(99.5);
  assert.deepEqual([tokens.stoppedBy, tokens.bound, tokens.state.tokens], ['budget', 'maxTokens', 100]);

  const slow = scriptedGate(never);
  const timed = await slow.gate.open(QUESTION, { bounds: { maxMillis: 500 } });
  slow.clock.now += 499;
  assert.equal(timed.stoppedBy, null);
  slow.clock.now += 1;
  assert.equal((await timed.search(() => assert.fail('searched'), { evidence: () => [] })).ran, false);
  assert.deepEqual([timed.stoppedBy, timed.bound], ['budget', 'maxMillis']);
  assert.equal(slow.read().sessions[0]?.end?.bound, 'maxMillis');
});

test('a bound that is reached at the loop of a fire leaves the stop to the decider', async () => {
  const session = await scriptedGate(() => true).gate.open(QUESTION, { bounds: { maxSteps: 1 } });
  assert.equal((await session.observe(['1,1,0'])).stoppedBy, 'covered');
});

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

test('P97: a question without claims is never covered, and the decider that reads claims is not asked', async () => {
  let asked = 0;
  const decider = {
    name: 'scripted',
    identity: { decider: 'scripted' },
    readsClaims: true,
    open: () => ({
      call: () => {
        asked++;
        return Promise.resolve({ covered: true, p: null, matched: [], pairs: 0, tokens: 0 });
      },
    }),
  };
  const { gate } = scriptedGate(() => true, { decider, claims: { source: 'heuristic', make: () => Promise.resolve([]) } });
  const session = await gate.open(QUESTION);
  const seen = await session.observe(['1,1,0']);
  assert.deepEqual([seen.covered, seen.because, seen.margin, seen.stoppedBy, asked], [false, 'no_claims', null, null, 0]);
});

test('parallel searches of one step are put in a queue: none runs after coverage', async () => {
  const { gate } = scriptedGate(() => true);
  const session = await gate.open(QUESTION);
  const ran: number[] = [];
  const all = await Promise.all(
    [1, 2, 3].map((at) =>
      session.search(
        async () => {
          ran.push(at);
          await new Promise((resolve) => setTimeout(resolve, 5));
          return ['1,1,0'];
        },
        { evidence: (found) => found },
      ),
    ),
  );
  assert.deepEqual([ran, all.map((one) => one.ran)], [[1], [true, false, false]]);
});

test('a search that throws counts as one that brought nothing, and rethrows', async () => {
  const session = await scriptedGate(() => false).gate.open(QUESTION, { bounds: { noProgress: 2 } });
  const failing = () => session.search(() => Promise.reject(new Error('no index')), { evidence: () => [] });
  await assert.rejects(failing(), { message: 'no index' });
  await assert.rejects(failing(), { message: 'no index' });
  assert.deepEqual([session.stoppedBy, (await failing()).ran], ['noProgress', false]);
});

test('P85: an agent that ends by itself is told to go on once for each time, and ends when it does not search', async () => {
  const session = await scriptedGate(() => false, { forceContinue: 'Go on.' }).gate.open(QUESTION);
  await session.observe(['1,0,0']);
  assert.equal(session.nativeStop(), 'Go on.');
  await session.observe(['0,0,1']);
  assert.equal(session.nativeStop(), 'Go on.');
  assert.equal(session.nativeStop(), null);
  assert.equal(session.stoppedBy, 'hostFinished');
  const free = await scriptedGate(() => false).gate.open(QUESTION);
  assert.deepEqual([free.nativeStop(), free.stoppedBy], [null, 'hostFinished']);
});

test('a decider of the host’s is asked for by an observation, and its verdict is handed in', async () => {
  const { gate, read, clock } = scriptedGate(() => false, { decider: 'host' });
  const session = await gate.open(QUESTION);
  const asked = await session.observe(['1,1,0']);
  assert.deepEqual([asked.action, asked.covered, session.state.awaitsVerdict], ['call', null, true]);
  clock.now += 250;
  assert.equal((await session.verdict({ covered: false, p: 0.2 })).stoppedBy, null);
  await assert.rejects(session.verdict({ covered: true }), {
    message: `session ${session.id}: got a verdict that no observation asked for`,
  });
  await session.observe(['0,0,1']);
  // The host goes on without its verdict: counted, and never taken as covered.
  assert.equal((await session.observe(['0,1,0'])).action, 'call');
  assert.equal((await session.verdict({ covered: true })).stoppedBy, 'covered');
  assert.deepEqual(
    read().sessions[0]?.loops.map(({ covered, decider_ms: ms, error }) => [covered, ms, error]),
    [
      [false, 250, null],
      [null, 0, 'decider failed: the host went on without its verdict'],
      [true, 0, null],
    ],
  );
});

test('sentences are new once: by their place where the host gives it, else by title and text', async () => {
  const session = await scriptedGate(() => false).gate.open(QUESTION);
  assert.equal((await session.observe(['1,0,0', { text: '1,0,0', title: 'A' }, { text: '1,0,0' }, ' '])).newSentences, 2);
  assert.equal((await session.observe([{ text: '1,0,0', page: 0, sentence: 1 }, { text: '1,0,0', page: 0, sentence: 2 }])).newSentences, 2); // prettier-ignore
  assert.equal((await session.observe([{ text: 'another text 0,1,0', page: 0, sentence: 1 }])).newSentences, 0);
});

test('text is split by the profile’s splitter, and refused where the profile knows another', async () => {
  const split = await scriptedGate(() => false).gate.open(QUESTION);
  assert.equal((await split.observe('A first one 1,0,0. And a second 0,1,0.')).newSentences, 2);
  const { gate } = scriptedGate(() => false, { profile: numberProfile({ splitter: ['dataset'] }) });
  const session = await gate.open(QUESTION);
  await assert.rejects(session.observe('A first one.'), {
    message:
      'splitter differs: the profile was made with ["dataset"], this run uses "sbd@1.0.19"; hand in sentences instead of text, or calibrate on text; `transfer` applies the profile knowingly',
  });
  assert.equal((await session.observe(['1,0,0'])).loop, 1);
  const knowingly = scriptedGate(() => false, { profile: numberProfile({ splitter: ['dataset'] }), transfer: true }).gate;
  assert.deepEqual(knowingly.settings.transferred, ['splitter: ["dataset"] → "sbd@1.0.19"']);
});

test('the session’s own evidence and a broken observation are refused by field, and count as no loop', async () => {
  const session = await scriptedGate(() => false).gate.open(QUESTION);
  const broken: [unknown, string][] = [
    [7, 'evidence: got number, expected a text or a list of sentences'],
    [[{ title: 'A' }], 'field evidence[0]: got text undefined, expected a string or { title?, text }'],
    [['a', { text: 'b', page: 1 }], 'field evidence[1]: expected page and sentence together, as whole numbers from 0'],
    ['x'.repeat(1_000_001), 'evidence: got over 1000000 characters in one observation, expected retrieved passages'],
  ];
  for (const [evidence, message] of broken) {
    await assert.rejects(session.observe(evidence as string), (error) => error instanceof InputError && error.message === message, message);
  }
  assert.equal(session.state.loops, 0);
});

test('every event of every kind of session follows the log’s schema', async () => {
  const { gate, log } = scriptedGate(({ loop }) => loop === 2, { content: true, label: 'mine' });
  const session = await gate.open(QUESTION, { questionId: 'q1' });
  await session.observe([{ title: 'A', text: '1,1,0' }], { query: 'who?' });
  await session.observe(['0,1,0']);
  for (const event of log.events) gateEvent.parse(event);
  const open = log.events.find((event) => event.event === 'open');
  assert.deepEqual([open?.question, open?.claim_texts, open?.claims], [QUESTION, TWO_CLAIMS, 2]);
});

test('without content no line holds a word of question, query or evidence', async () => {
  const { gate, log } = scriptedGate(() => false);
  const session = await gate.open('The SECRET question?');
  await session.observe([{ title: 'SECRET', text: 'SECRET 1,0,0' }], { query: 'SECRET' });
  session.finish();
  assert.doesNotMatch(JSON.stringify(log.events), /SECRET/);
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

test('evidence that is refused leaves a verdict that is waited for, and spends nothing', async () => {
  const session = await scriptedGate(() => false, { decider: 'host' }).gate.open(QUESTION);
  await session.observe(['1,1,0']);
  await assert.rejects(session.observe(7 as never, { tokens: 5 }), InputError);
  await assert.rejects(session.observe(['0,0,1'], { tokens: -5 }), InputError);
  assert.equal(session.state.sentences, 1);
  assert.deepEqual([session.state.awaitsVerdict, session.state.tokens, session.state.errors], [true, 0, 0]);
  assert.equal((await session.verdict({ covered: true })).stoppedBy, 'covered');
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

test('P87: loops that the host aborts are loops: an agent that aborts each search is bounded too', async () => {
  const steps = await scriptedGate(() => new Promise<boolean>(() => undefined)).gate.open(QUESTION, {
    bounds: { maxSteps: 2, noProgress: null },
  });
  for (let at = 0; at < 3; at++) {
    const controller = new AbortController();
    const seen = steps.observe(['1,1,0'], { signal: controller.signal });
    setTimeout(() => controller.abort(new Error('gone')), 5);
    if (at < 2) await assert.rejects(seen, { message: 'gone' });
    else assert.equal((await seen).because, 'stopped');
  }
  assert.deepEqual([steps.stoppedBy, steps.state.loops], ['maxSteps', 2]);
});

test('an empty claim list is never covered, whatever a decider that reads no claims would say', async () => {
  const { gate, calls } = scriptedGate(() => true, { claims: { source: 'heuristic', make: () => Promise.resolve([]) } });
  const made = await (await gate.open(QUESTION)).observe(['1,1,0']);
  const given = await (await scriptedGate(() => true).gate.open(QUESTION, { claims: [] })).observe(['1,1,0']);
  for (const seen of [made, given]) assert.deepEqual([seen.covered, seen.because, seen.stoppedBy], [false, 'no_claims', null]);
  assert.equal(calls.length, 0);
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

test('an id that a host gives is its own as long as its session is open', async () => {
  const { gate } = scriptedGate(() => false);
  const first = await gate.open(QUESTION, { id: 'q' });
  await assert.rejects(gate.open(QUESTION, { id: 'q' }), { message: 'field id: session q: is open already, expected an id of its own' });
  first.finish();
  assert.equal((await gate.open(QUESTION, { id: 'q' })).id, 'q');
});

test('a question’s time runs out while a verdict of the host’s is waited for, and the late verdict finds it stopped', async () => {
  const { gate, clock, read } = scriptedGate(() => false, { decider: 'host' });
  const session = await gate.open(QUESTION, { bounds: { maxMillis: 100 } });
  await session.observe(['1,1,0']);
  clock.now += 150;
  assert.deepEqual([session.stoppedBy, session.bound], ['budget', 'maxMillis']);
  assert.equal((await session.verdict({ covered: true })).stoppedBy, 'budget');
  assert.deepEqual([read().sessions[0]?.end?.bound, read().sessions[0]?.loops[0]?.error], ['maxMillis', null]);
});

test('audits are drawn by seed, session and loop alone; one that fires stops the run and says so', async () => {
  const { gate, read } = scriptedGate(() => true, { audit: { skips: 1, questions: 0 } });
  const session = await gate.open(QUESTION);
  assert.deepEqual(short(await session.observe(['1,0,0'])), {
    action: 'call',
    because: 'audit',
    margin: 1,
    covered: true,
    stoppedBy: 'covered',
  });
  assert.deepEqual([session.state.calls, session.state.audits, session.state.skips], [1, 1, 0]);
  assert.equal(read().sessions[0]?.loops[0]?.decision, 'skip');
  const draws = async (script: () => boolean): Promise<boolean[]> => {
    const { gate: half } = scriptedGate(script, { audit: { skips: 0.5, questions: 0.5 } });
    const drawn: boolean[] = [];
    for (let at = 0; at < 200; at++) drawn.push((await half.open(QUESTION, { id: `s${at}` })).mode === 'shadow');
    return drawn;
  };
  const drawn = await draws(() => false);
  assert.deepEqual(drawn, await draws(() => true));
  // Binomial(200, 0.5): 72 to 128 has probability 0.99993 (scipy.stats.binom.cdf).
  const count = drawn.filter(Boolean).length;
  assert.ok(count >= 72 && count <= 128, String(count));
});

test('what contradicts itself is refused when the gate is made', () => {
  const cases: [Parameters<typeof scriptedGate>[1], string][] = [
    [{ profile: undefined }, 'mode enforce: expected a profile; run in shadow first, and calibrate from its log'],
    [{ claims: undefined }, 'expected a drafter, or claims, that the margin is made of'],
    [{ mode: 'watch' as 'shadow' }, 'mode: got "watch", expected shadow or enforce'],
    [{ mode: 'shadow', audit: { skips: 0.1 } }, 'audit: only an enforcing gate has skips to audit'],
    [{ audit: { skips: 2 } }, 'audit.skips: got 2, expected a share in [0, 1]'],
    [{ onError: 'explode' as 'stop' }, 'onError: got "explode", expected continue, stop, throw'],
    [{ deciderTimeout: NaN }, 'deciderTimeout: got NaN, expected a positive number of milliseconds'],
    [{ forceContinue: '' }, 'forceContinue: got an empty message, expected true, false or a text'],
    [{ bounds: { maxSteps: 0 } }, 'bounds.maxSteps: got 0, expected a positive number, or null for none'],
    [{ bounds: { steps: 3 } as object }, 'bounds: got "steps", expected some of maxSteps, maxCalls, maxTokens, maxMillis, noProgress'],
    [
      { profile: numberProfile({ decider: { name: 'x', identity: { decider: 'other' }, claims: null } }) },
      'decider.identity differs: the profile was made with {"decider":"other"}, this run uses {"decider":"scripted"}; --transfer applies the profile knowingly',
    ],
  ];
  for (const [options, message] of cases) assert.throws(() => scriptedGate(() => true, options), { message });
});

test('P92: the worst case of a question is known before it runs', () => {
  const { gate } = scriptedGate(() => true, { bounds: { maxSteps: 9, maxCalls: 5 } });
  // 9 searches × 2 claims × 3 sentences.
  assert.deepEqual(gate.worstCase({ claims: 2, sentences: 3 }), { searches: 9, calls: 5, pairs: 54 });
  assert.equal(scriptedGate(() => true, { bounds: { maxSteps: null } }).gate.worstCase({ claims: 2 }), null);
});
