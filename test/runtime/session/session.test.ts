import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Observation, liveClaimsDecider } from '../../../runtime/index.js';
import { numberProfile, scriptedGate } from '../../support/scripted-gate.js';

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

test('an id that a host gives is its own as long as its session is open', async () => {
  const { gate } = scriptedGate(() => false);
  const first = await gate.open(QUESTION, { id: 'q' });
  await assert.rejects(gate.open(QUESTION, { id: 'q' }), { message: 'field id: session q: is open already, expected an id of its own' });
  first.finish();
  assert.equal((await gate.open(QUESTION, { id: 'q' })).id, 'q');
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
    [{ aggregation: 'top2' }, "aggregation: is the profile's to say, expected it without a profile alone"],
    [
      {
        decider: liveClaimsDecider({
          name: 'mine',
          identity: { decider: 'scripted' },
          policy: 'any_match',
          score: () => Promise.resolve([]),
        }),
      },
      "the decider mine rules by any_match, the gate's margin by all_match: expected one policy for both",
    ],
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
  assert.equal(scriptedGate(() => true, { bounds: { maxSteps: null } }).gate.worstCase({ claims: 2, sentences: 3 }), null);
});
