import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../src/core/random.js';
import { type LogAudits, logAudits } from '../../src/evaluate/log-audits.js';
import { trafficOf } from '../../src/evaluate/log-traffic.js';
import { scriptedGate } from '../support/scripted-gate.js';

const SESSIONS = 30;
const LOOPS = 5;
const SHARE = 0.3;

interface Traffic {
  audits: LogAudits;
  /** Of the skips that could be drawn: those that the decider would have fired at, and those that nobody asked at in vain. */
  wouldFire: number;
  saved: number;
}

/** Real sessions: evidence that is far or near by chance, a decider that would fire by chance, and that fails by chance. */
async function enforcedTraffic(seed: number, { maxCalls, failing }: { maxCalls: number | null; failing: number }): Promise<Traffic> {
  const chance = (what: string, session: string, loop: number): number => random(seed, what, session, loop).float();
  const fires = (session: string, loop: number): boolean => chance('fires', session, loop) < 0.15 * loop;
  const script = ({ session, loop }: { session: string; loop: number }): boolean => {
    if (chance('fails', session, loop) < failing) throw new Error('no answer');
    return fires(session, loop);
  };
  const { gate, read } = scriptedGate(script, { audit: { skips: SHARE, questions: 0 }, seed });
  let [wouldFire, saved] = [0, 0];
  for (let at = 0; at < SESSIONS; at++) {
    const id = `${at}`;
    // The bound is the question's own; the gate's has none.
    const session = await gate.open('who?', { id, bounds: { maxSteps: LOOPS, noProgress: null, maxCalls } });
    while (session.stoppedBy === null) {
      const { calls, loops } = session.state;
      const loop = loops + 1;
      const near = loop > 1 && chance('near', id, loop) < 0.3;
      const { margin, because } = await session.observe([`${loop} ${near ? '1,1,0' : '0,0,1'}`]);
      if ((margin as number) <= 0.4 || (maxCalls !== null && calls >= maxCalls)) continue;
      if (fires(id, loop)) wouldFire++;
      else if (because === 'gate') saved++;
    }
  }
  const [audits] = logAudits([{ ...trafficOf(read(), { file: 'live.jsonl' }), sha256: '', bytes: 0 }]);
  return { audits: audits as LogAudits, wouldFire, saved };
}

for (const [name, options] of [
  ['no bound on calls and no failure', { maxCalls: null, failing: 0 }],
  ['a bound on calls', { maxCalls: 1, failing: 0 }],
  ['a bound on calls and a decider that fails at a third of them', { maxCalls: 2, failing: 1 / 3 }],
] as const) {
  test(`sessions’ draws → log → estimate, with ${name}: intervals cover the truth in at least 93% of 150 runs, and the range holds the mean`, async (t) => {
    const RUNS = 150;
    const covered = { wouldFire: 0, saved: 0 };
    const errors = { noneFired: [] as number[], allFired: [] as number[] };
    const savedErrors = { noneFired: [] as number[], allFired: [] as number[] };
    let unanswered = 0;
    for (let seed = 0; seed < RUNS; seed++) {
      const { audits, ...truth } = await enforcedTraffic(seed, options);
      unanswered += audits.unanswered;
      assert.ok(audits.estimate);
      const { noneFired, allFired } = audits.estimate;
      if (noneFired.wouldFire.low <= truth.wouldFire && truth.wouldFire <= allFired.wouldFire.high) covered.wouldFire++;
      if (allFired.saved.low <= truth.saved && truth.saved <= noneFired.saved.high) covered.saved++;
      for (const end of ['noneFired', 'allFired'] as const) {
        errors[end].push(audits.estimate[end].wouldFire.value - truth.wouldFire);
        savedErrors[end].push(audits.estimate[end].saved.value - truth.saved);
      }
    }
    const [none, all, savedNone, savedAll] = [errors.noneFired, errors.allFired, savedErrors.noneFired, savedErrors.allFired].map(meanAndError) as [
      Mean, Mean, Mean, Mean,
    ]; // prettier-ignore
    t.diagnostic(
      `covered ${covered.wouldFire / RUNS} (fires), ${covered.saved / RUNS} (saved); mean error ${none.mean.toFixed(2)} to ${all.mean.toFixed(2)} ± ${all.error.toFixed(2)}, saved ${savedAll.mean.toFixed(2)} to ${savedNone.mean.toFixed(2)}; ${unanswered} unanswered`,
    );
    assert.ok(covered.wouldFire / RUNS >= 0.93 && covered.saved / RUNS >= 0.93);
    assert.equal(unanswered > 0, options.failing > 0);
    // Mean errors, within four of their own standard errors of 0, or on either side of it.
    assert.ok(none.mean <= 4 * none.error && all.mean >= -4 * all.error);
    assert.ok(savedAll.mean <= 4 * savedAll.error && savedNone.mean >= -4 * savedNone.error);
    if (options.failing > 0) assert.ok(none.mean < -4 * none.error, 'to leave the unanswered out would make the estimate too low');
  });
}

interface Mean {
  mean: number;
  error: number;
}

function meanAndError(values: readonly number[]): Mean {
  const mean = values.reduce((sum, one) => sum + one, 0) / values.length;
  const variance = values.reduce((sum, one) => sum + (one - mean) ** 2, 0) / (values.length - 1);
  return { mean, error: Math.sqrt(variance / values.length) };
}
