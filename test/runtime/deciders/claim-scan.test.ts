import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type PairScore,
  type ScanPair,
  byMargin,
  callsAt,
  candidateSentences,
  claimScan,
  questionVerdict,
  scanTrajectory,
} from '../../../runtime/index.js';
import { random } from '../../../src/core/random.js';
import type { Trajectory } from '../../../src/core/trajectories.js';
import { trajectoryOf } from '../../support/trajectories.js';

/** Loops of one to fourteen sentences from three pages, some too short to be candidates. */
function someTrajectory(seed: number): Trajectory {
  const draw = random(seed, 'trajectory');
  let at = 0;
  const loops = Array.from({ length: 1 + draw.int(5) }, () =>
    Array.from({ length: 1 + draw.int(4) + (draw.int(5) === 0 ? 10 : 0) }, (): [number, number] => [draw.int(3), at++]),
  );
  const trajectory = trajectoryOf(loops);
  for (const { sentences } of trajectory.loops)
    for (const one of sentences) one.text = draw.int(6) === 0 ? 'too short' : `A sentence long enough, number ${one.sentence}.`;
  return trajectory;
}

/** A score of a pair that depends on nothing but the pair: a match in one of five, a tie in one of ten. */
function scoreOf(seed: number, { claim, sentence }: ScanPair): PairScore {
  const draw = random(seed, 'score', claim, sentence.page, sentence.sentence);
  const kind = draw.int(10);
  const [lp_match, lp_partial, lp_null] = kind < 2 ? [-0.1, -3, -4] : kind === 2 ? [-1, -1, -2] : [-3, -0.2, -2];
  return { lp_match, lp_partial, lp_null, p: null };
}

const seeds = fc.integer({ min: 0, max: 100_000 });
const options = fc.record({
  claims: fc.integer({ min: 1, max: 4 }),
  lookAhead: fc.constantFrom(1, 2, 3, Infinity),
  allPairs: fc.boolean(),
});

test('called after every loop, it scores the pairs of the sequential scan, in its order, whatever it looks ahead', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, options, async (seed, { claims, lookAhead, allPairs }) => {
      const trajectory = someTrajectory(seed);
      const expected = await scanTrajectory(trajectory, claims, (claim, sentence) => scoreOf(seed, { claim, sentence }), {
        allPairs,
        candidates: candidateSentences,
      });
      const scan = claimScan(claims, { lookAhead, allPairs });
      const rows = [];
      for (const { loop, sentences } of trajectory.loops) {
        scan.bring(loop, sentences);
        rows.push(...(await scan.call(async (pairs) => pairs.map((pair) => scoreOf(seed, pair)))).rows);
      }
      assert.deepEqual(rows, expected);
    }),
  );
});

test('a call rules on the sentences of skipped loops too: its verdict and its pairs are those of the cached rows', async () => {
  await fc.assert(
    fc.asyncProperty(seeds, options, fc.infiniteStream(fc.boolean()), async (seed, { claims, lookAhead }, calls) => {
      const trajectory = someTrajectory(seed);
      const rows = await scanTrajectory(trajectory, claims, (claim, sentence) => scoreOf(seed, { claim, sentence }), {
        candidates: candidateSentences,
      });
      const named = rows.map((row) => ({ ...row, question_id: 'q', row: 0, decider: 'verifier' }));
      const verdict = questionVerdict({ question_id: 'q', row: 0, loops: trajectory.loops.length, claims }, named);
      const called = trajectory.loops.map(({ loop }) => loop).filter(() => calls.next().value);
      const cached = callsAt(verdict, called);
      const scan = claimScan(claims, { lookAhead: lookAhead === Infinity ? 1 : lookAhead });
      for (const { loop, sentences } of trajectory.loops) {
        scan.bring(loop, sentences);
        const expected = cached.find((one) => one.loop === loop);
        if (!expected) continue;
        const call = await scan.call(async (pairs) => pairs.map((pair) => scoreOf(seed, pair)));
        assert.deepEqual(
          [call.matched.every(Boolean), call.rows.length],
          [expected.covered, expected.pairs],
          `loop ${loop} of calls at ${called.join(', ')}`,
        );
      }
    }),
  );
});

test('in claim order a call ends at the first claim that stays unmatched: the same verdicts, never more pairs', async () => {
  let saved = 0;
  await fc.assert(
    fc.asyncProperty(seeds, fc.integer({ min: 1, max: 4 }), async (seed, claims) => {
      const trajectory = someTrajectory(seed);
      const draw = random(seed, 'margins');
      const plain = claimScan(claims);
      const ordered = claimScan(claims, { lookAhead: 1 });
      const score = async (pairs: readonly ScanPair[]): Promise<PairScore[]> => pairs.map((pair) => scoreOf(seed, pair));
      let [all, few] = [0, 0];
      for (const { loop, sentences } of trajectory.loops) {
        plain.bring(loop, sentences);
        ordered.bring(loop, sentences);
        const order = byMargin(Array.from({ length: claims }, () => draw.float()));
        const [one, other] = [await plain.call(score), await ordered.call(score, { claimOrder: order })];
        assert.equal(other.matched.every(Boolean), one.matched.every(Boolean));
        all += one.rows.length;
        few += other.rows.length;
        assert.ok(few <= all);
      }
      saved += all - few;
    }),
  );
  assert.ok(saved > 0, 'nothing was saved, so the order did nothing');
});

test('a sentence that is retrieved again is not scored again; in claim order with all pairs every pair is scored', async () => {
  const [first] = someTrajectory(1).loops.flatMap(({ sentences }) => candidateSentences(sentences));
  assert.ok(first);
  const scan = claimScan(2, { allPairs: true });
  const asked: number[] = [];
  const score = async (pairs: readonly ScanPair[]): Promise<PairScore[]> => {
    asked.push(pairs.length);
    return pairs.map(() => ({ lp_match: -3, lp_partial: -0.2, lp_null: -2, p: null }));
  };
  for (const loop of [1, 2]) {
    scan.bring(loop, [first, first]);
    await scan.call(score, { claimOrder: [1, 0] });
  }
  assert.deepEqual(asked, [1, 1]);
});

test('P24: without a candidate nothing is scored and nothing is matched', async () => {
  const scan = claimScan(2);
  scan.bring(1, []);
  const call = await scan.call(() => assert.fail('nothing to score'));
  assert.deepEqual(call, { rows: [], matched: [false, false] });
});

test('P71: of equal margins the first claim is reached first', () => {
  assert.deepEqual(byMargin([0.2, 0.5, 0.5, 0.1]), [1, 2, 0, 3]);
});
