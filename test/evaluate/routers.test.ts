import assert from 'node:assert/strict';
import { test } from 'node:test';
import { random } from '../../src/core/random.js';
import { roundMargin } from '../../src/core/units.js';
import type { Trajectory } from '../../src/core/trajectories.js';
import { cheapSignals } from '../../src/evaluate/cheap-signals.js';
import { compareRouters } from '../../src/evaluate/compare-routers.js';
import type { DatasetRun, QuestionRun } from '../../src/evaluate/question-run.js';
import { randomSkip } from '../../src/evaluate/random-skip.js';
import { ROUTER_NAMES, routerScores } from '../../src/evaluate/router-scores.js';
import { routerTables } from '../../src/evaluate/router-tables.js';
import { textTable } from '../../src/evaluate/text-table.js';
import { question } from './question-runs.js';

const sentence = (page: number, at: number, text: string): Trajectory['loops'][number]['sentences'][number] => ({
  page, sentence: at, title: `Page ${page}`, text, score: 1,
}); // prettier-ignore
const loopOf = (loop: number, sentences: Trajectory['loops'][number]['sentences']): Trajectory['loops'][number] => ({
  question_id: 'q', row: 0, loop, query: 'q', sub_answer: null, sentences, stop_reason: null,
}); // prettier-ignore

test('the cheap signals count sentences, recall content words and relate BM25 to the pool’s best', async () => {
  const pages = [
    { title: 'Page 0', sentences: ['Oslo lies north.', 'red green'] },
    { title: 'Page 1', sentences: ['Bergen harbour ferries', ''] },
  ];
  const trajectory = {
    question_id: 'q',
    row: 0,
    loops: [
      loopOf(1, [sentence(0, 0, 'Oslo lies north.'), sentence(1, 1, ' ')]),
      loopOf(2, []),
      loopOf(3, [sentence(1, 0, 'Bergen harbour ferries')]),
    ],
  };
  const options = { evidenceText: 'sentence', policy: 'all_match', pages } as const;
  const signals = await cheapSignals(trajectory, ['Oslo', 'Bergen harbour ferries Stavanger'], options);
  assert.deepEqual([...signals.sentences], [1, 1, 2]);
  // The second claim: none of four content words, then three of four.
  assert.deepEqual([...signals.lexical], [1, 1, 0.25]);
  // Its best sentence of the pool is reached at loop 3; the first claim's at loop 1.
  assert.deepEqual([...(signals.bm25 ?? [])], [1, 1, 0]);
  const any = await cheapSignals(trajectory, ['Oslo', 'Bergen harbour ferries Stavanger'], { ...options, policy: 'any_match' });
  assert.deepEqual([[...any.lexical], [...(any.bm25 ?? [])]], [[0, 0, 0], [0, 0, 0]]); // prettier-ignore
  // Nothing to look for is covered; without a pool there is no BM25.
  const empty = await cheapSignals(trajectory, ['of the'], { ...options, pages: undefined });
  assert.deepEqual([[...empty.lexical], empty.bm25], [[0, 0, 0], null]); // prettier-ignore
});

/** Questions whose margins fall towards the fire with noise; `lexical` is the margin itself, BM25 says nothing of it. */
function dataset(name: string, count: number): DatasetRun {
  const stream = random(3, 'router questions', name);
  const questions = Array.from({ length: count }, (_, row): QuestionRun => {
    const loops = 2 + stream.int(5);
    const fire = 1 + stream.int(loops + 2);
    const margins = Array.from({ length: loops }, (__, at) =>
      roundMargin(at + 1 < fire ? 0.3 + 0.6 * stream.float() : 0.5 * stream.float()),
    );
    const fires = margins.map((__, at) => (at + 1 >= fire ? 'F' : '.')).join('');
    return question(margins, fires, {
      id: `${name}-${row}`,
      row,
      goldLoop: fire > loops ? Infinity : fire,
      matchedAt: [1, fire],
      signals: {
        sentences: Int32Array.from(margins, (__, at) => 3 * (at + 1)),
        lexical: Float64Array.from(margins),
        bm25: Float64Array.from(margins, () => roundMargin(stream.float())),
      },
    });
  });
  return { dataset: name, questions, rows: count, excluded: { no_claims: 0, no_loop: 0, undecided: 0, repeated: 0 } };
}

const runs = [dataset('one', 150), dataset('two', 120), dataset('three', 100)];

test('a router that equals the margin gives the gate’s figures exactly, and the difference is nought in every resample', () => {
  const zero = { value: 0, low: 0, high: 0 };
  for (const { rows } of compareRouters(runs, { routers: ['lexical'], resamples: 50 })) {
    const [gate, lexical] = rows;
    assert.deepEqual(lexical?.frontier.map(({ gateAhead }) => gateAhead), [zero, zero, zero]); // prettier-ignore
    assert.deepEqual(lexical?.frontier, gate?.frontier);
    assert.deepEqual(lexical?.lodo, { ...gate?.lodo, gateAhead: { callCut: zero, agreement: zero } });
  }
});

test('random skipping meets the gate’s cut within half a point with every seed, and agrees less', () => {
  for (const { random: skipped } of compareRouters(runs, { routers: [], resamples: 100 })) {
    for (const { target, callCut, matched, agreement, agrees, gateAhead, seeds } of skipped) {
      assert.equal(seeds, 20);
      assert.ok(matched && Math.abs(callCut.low - target) <= 0.005 && Math.abs(callCut.high - target) <= 0.005);
      // The mean over the questions is the mean over the seeds, up to rounding.
      const mean = agrees.reduce((sum, one) => sum + one, 0) / agrees.length;
      assert.ok(Math.abs(mean - agreement.mean) < 1e-12);
      assert.ok((gateAhead.low as number) > 0);
    }
  }
  // Nothing to skip: a cut of 0 is always-verify.
  const none = randomSkip((runs[0] as DatasetRun).questions, { target: 0, seeds: 2 });
  assert.deepEqual([none.callCut.low, none.callCut.high, none.agreement.mean], [0, 0, 1]);
});

test('another order of the rows changes no bit of the comparison', () => {
  const shuffled = runs.map((run) => ({ ...run, questions: random(1, run.dataset).shuffle(run.questions) }));
  const options = { routers: ROUTER_NAMES, resamples: 40 } as const;
  const first = compareRouters(runs, options);
  assert.deepEqual(compareRouters(shuffled, options), first);
  const text = routerTables(first).map(({ title, cells }) => `${title}\n${textTable(cells.header, cells.rows)}`).join('\n'); // prettier-ignore
  assert.match(text, /^one, 150 questions: largest call cut at an agreement, thresholds free\n/);
  assert.match(text, /\noracle-self-gating \(a bound\) /);
  assert.match(text, /\none: random skipping at the gate’s own call cut, 20 seeds\n/);
});

test('the evidence count orders loops by their sentences, and a missing signal or dataset is named', () => {
  const one = runs[0]?.questions[0] as QuestionRun;
  assert.deepEqual(
    [...routerScores('evidence-count', [])(one)],
    [...(one.signals?.sentences ?? [])].map((count) => Math.round(1e6 / (1 + count)) / 1e6),
  );
  const bare = question([1], '.');
  assert.throws(() => routerScores('lexical', [])(bare), {
    name: 'InputError',
    message: 'row 0, question "q": routers need the cheap signals, which were not read with this run',
  });
  assert.throws(() => compareRouters(runs.slice(0, 1), { routers: [] }), {
    name: 'InputError',
    message: 'routers are thresholded on other datasets: got 1 dataset, expected at least two',
  });
});
