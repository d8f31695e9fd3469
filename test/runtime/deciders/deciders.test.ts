import assert from 'node:assert/strict';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type Decider, type Decision, fileDecider, goldDecider, questionVerdict } from '../../../runtime/index.js';
import type { HopRecord } from '../../../src/core/records.js';
import type { Trajectory } from '../../../src/core/trajectories.js';
import { recordOf, trajectoryOf } from '../../support/trajectories.js';

const twoHops = recordOf(
  [
    ['A', 'a0.', 'a1.'],
    ['B', 'b0.', 'b1.'],
    ['C', 'c0.'],
  ],
  {
    supporting: [
      { title: 'A', page: 0, sentence: 1 },
      { title: 'B', page: 1, sentence: 0 },
      { title: 'B', page: 1, sentence: 1 },
    ],
  },
);

async function decided(decider: Decider, record: HopRecord | null, trajectory: Trajectory): Promise<Decision> {
  const decision = await decider.decide({ record, trajectory, claims: null });
  assert.ok(!('excluded' in decision));
  return decision;
}

async function fires(decider: Decider, record: HopRecord, trajectory: Trajectory): Promise<boolean[]> {
  const { claims, verdicts } = await decided(decider, record, trajectory);
  const question = { question_id: 'q', row: 0, loops: trajectory.loops.length, claims };
  const rows = verdicts.map((one) => Object.assign({ question_id: 'q', row: 0, decider: decider.name }, one));
  return questionVerdict(question, rows, decider.scan).firesByLoop;
}

/** Questions of which it is known by eye at which loops the gold decider fires. */
const byEye: [name: string, HopRecord, Trajectory, boolean[]][] = [
  [
    'both hops by loop 2',
    twoHops,
    trajectoryOf([
      [
        [2, 0],
        [0, 1],
      ],
      [[1, 1]],
      [[0, 0]],
    ]),
    [false, true, true],
  ],
  [
    'both hops at loop 1',
    twoHops,
    trajectoryOf([
      [
        [1, 0],
        [0, 1],
      ],
    ]),
    [true],
  ],
  [
    'one hop never',
    twoHops,
    trajectoryOf([
      [[0, 1]],
      [
        [0, 0],
        [2, 0],
      ],
    ]),
    [false, false],
  ],
  [
    'only sentences that are not gold',
    twoHops,
    trajectoryOf([
      [
        [0, 0],
        [2, 0],
      ],
    ]),
    [false],
  ],
];

async function checkAlive(make: (of: Decider) => Decider): Promise<void> {
  for (const [name, record, trajectory, expected] of byEye)
    assert.deepEqual(await fires(make(goldDecider()), record, trajectory), expected, name);
}

test('the gold decider fires at the loop by which every hop has a gold sentence, and not before', () => checkAlive((gold) => gold));

test('P93: a decider that always says covered, and one that never does, fail that check', async () => {
  const always =
    (to: number) =>
    (gold: Decider): Decider => ({
      ...gold,
      decide: async (input) => {
        const decision = await gold.decide(input);
        return 'excluded' in decision ? decision : { ...decision, verdicts: scoredAs(decision, input.trajectory, to) };
      },
    });
  await assert.rejects(checkAlive(always(1)), { name: 'AssertionError' });
  await assert.rejects(checkAlive(always(0)), { name: 'AssertionError' });

  function scoredAs({ claims }: Decision, { loops }: Trajectory, p: number): Decision['verdicts'] {
    const [first] = loops;
    return Array.from({ length: claims ?? 0 }, (_, claim) => ({
      loop: first?.loop ?? 1,
      claim,
      page: 0,
      sentence: 0,
      lp_match: null,
      lp_partial: null,
      lp_null: null,
      p,
    }));
  }
});

test('the gold decider scores each hop in order of retrieval, ends at its first match and does not score a matched hop again', async () => {
  const { claims, verdicts } = await decided(
    goldDecider(),
    twoHops,
    trajectoryOf([
      [
        [2, 0],
        [0, 1],
        [0, 0],
      ],
      [
        [1, 1],
        [1, 0],
      ],
    ]),
  );
  assert.equal(claims, 2);
  assert.deepEqual(
    verdicts.map(({ loop, claim, page, sentence, p }) => [loop, claim, page, sentence, p]),
    [
      [1, 0, 2, 0, 0],
      [1, 0, 0, 1, 1],
      [1, 1, 2, 0, 0],
      [1, 1, 0, 1, 0],
      [1, 1, 0, 0, 0],
      [2, 1, 1, 1, 1],
    ],
  );
});

test('with support `all` a hop is matched by the last of its gold sentences', async () => {
  const trajectory = trajectoryOf([
    [
      [0, 1],
      [1, 1],
    ],
    [[2, 0]],
    [[1, 0]],
  ]);
  assert.deepEqual(await fires(goldDecider(), twoHops, trajectory), [true, true, true]);
  assert.deepEqual(await fires(goldDecider({ support: 'all' }), twoHops, trajectory), [false, false, true]);
});

test('MuSiQue: a hop is covered by a sentence with its answer, or with `paragraph` by any of its paragraph', async () => {
  const record = recordOf([['P', 'Born in Oslo.', 'Died young.']], {
    decomposition: [{ question: 'P >> birthplace', answer: 'oslo', page: 0 }],
  });
  const trajectory = trajectoryOf([[[0, 1]], [[0, 0]]]);
  assert.deepEqual(await fires(goldDecider(), record, trajectory), [false, true]);
  assert.deepEqual(await fires(goldDecider({ covering: 'paragraph' }), record, trajectory), [true, true]);
});

test('P8: without gold hops, or with a gold page missing from the pool, there are no claims and the gold decider never fires', async () => {
  const none = recordOf([['A', 'a0.']]);
  const missing = recordOf([['A', 'a0.']], {
    supporting: [
      { title: 'A', page: 0, sentence: 0 },
      { title: 'Z', page: null, sentence: 0 },
    ],
  });
  const reasons = [
    [none, 'no_gold_hops'],
    [missing, 'gold_page_missing'],
  ] as const;
  for (const [record, noClaims] of reasons) {
    assert.deepEqual(await decided(goldDecider(), record, trajectoryOf([[[0, 0]]])), { claims: 0, noClaims, verdicts: [] });
    assert.deepEqual(await fires(goldDecider(), record, trajectoryOf([[[0, 0]]])), [false]);
  }
});

test('the gold decider does not look at the answer: changing it changes no verdict', async () => {
  const trajectory = trajectoryOf([[[0, 1]], [[1, 1]]]);
  assert.deepEqual(
    await decided(goldDecider(), { ...twoHops, answer: 'b1.' }, trajectory),
    await decided(goldDecider(), twoHops, trajectory),
  );
});

test('the gold decider refuses a run without records', async () => {
  await assert.rejects(goldDecider().decide({ record: null, trajectory: trajectoryOf([[]]), claims: null }), {
    message: 'row 0, question "q": the gold decider needs the records of the run, and this run has none',
  });
});

async function verdictFile(lines: readonly unknown[]): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'verdicts.jsonl');
  await writeFile(file, lines.map((one) => `${typeof one === 'string' ? one : JSON.stringify(one)}\n`).join(''));
  return file;
}

async function* questions(
  ...all: { question_id: string; row: number; loops: number }[]
): AsyncGenerator<{ question_id: string; row: number; loops: number }> {
  yield* all;
}

test('verdicts from a file become one row a loop; a row number separates ids that repeat', async () => {
  const file = await verdictFile([
    { question_id: 'q', loop: 1, covered: false, p: 0.1, comment: 'other fields are passed over' },
    { question_id: 'q', loop: 2, covered: true, row: 0 },
    { question_id: 'q', loop: 2, covered: false, row: 7 },
  ]);
  const decider = await fileDecider(file);
  const first = await decided(decider, null, trajectoryOf([[], []], 'q', 0));
  assert.equal(first.claims, null);
  assert.deepEqual(
    first.verdicts.map(({ loop, claim, p }) => [loop, claim, p]),
    [
      [1, null, 0.1],
      [2, null, 1],
    ],
  );
  const seventh = await decided(decider, null, trajectoryOf([[], []], 'q', 7));
  assert.deepEqual(
    seventh.verdicts.map(({ p }) => p),
    [0.1, 0],
  );
});

test('loops without a verdict are named with their question before any work, or the question is left out when asked', async () => {
  const file = await verdictFile([{ question_id: 'q', loop: 2, covered: false }]);
  const all = [
    { question_id: 'q', row: 0, loops: 3 },
    { question_id: 'r', row: 1, loops: 1 },
  ];
  const strict = await fileDecider(file);
  await assert.rejects(async () => strict.prepare?.(questions(...all)), {
    name: 'InputError',
    message: `${file}, row 0, question "q": no verdict for loops 1, 3 of 3, and 1 more question is incomplete; --skip-incomplete leaves such questions out`,
  });
  await assert.rejects(strict.decide({ trajectory: trajectoryOf([[], [], []]), record: null, claims: null }), {
    message: `${file}, row 0, question "q": no verdict for loop 1 of 3`,
  });
  const lenient = await fileDecider(file, { skipIncomplete: true });
  assert.deepEqual((await lenient.prepare?.(questions(...all)))?.warnings, [
    '2 questions are left out: some of their loops have no verdict',
  ]);
  assert.deepEqual(await lenient.decide({ trajectory: trajectoryOf([[], [], []]), record: null, claims: null }), {
    excluded: 'incomplete',
  });
});

test('unknown ids and verdicts for loops that the run does not have are counted and warned of', async () => {
  const file = await verdictFile([
    { question_id: 'q', loop: 1, covered: true },
    { question_id: 'q', loop: 1, covered: true },
    { question_id: 'q', loop: 2, covered: true },
    { question_id: 'q', loop: 1, covered: true, row: 5 },
    { question_id: 'x', loop: 1, covered: true },
  ]);
  const prepared = await (await fileDecider(file)).prepare?.(questions({ question_id: 'q', row: 0, loops: 1 }));
  assert.deepEqual(prepared, {
    counts: { verdict_lines: 5, repeated_lines: 2, unknown_ids: 1, unused_verdicts: 1 },
    warnings: [
      '1 question ids of the verdict file are not in the run, the first "x"',
      '1 verdicts are for a row or a loop that the run does not have',
    ],
  });
});

test('a malformed, contradicting or empty verdict file is refused with its line', async () => {
  const cases: [unknown[], string][] = [
    [['nonsense'], ', line 1: got "nonsense", expected one JSON object'],
    [[{ question_id: 'q', loop: 0, covered: true }], ', line 1, field loop: Too small: expected number to be >0'],
    [[{ question_id: 'q', loop: 1, covered: 'yes' }], ', line 1, field covered: Invalid input: expected boolean, received string'],
    [
      [{ question_id: 'q', loop: 1, covered: true, p: 0.4 }],
      ', line 1, question "q": got covered true with p 0.4, expected covered false at the threshold 0.5; --threshold sets another',
    ],
    [
      [
        { question_id: 'q', loop: 1, covered: true },
        { question_id: 'q', loop: 1, covered: false },
      ],
      ', line 2, question "q": contradicts line 1 on loop 1',
    ],
    [
      [
        { question_id: 'q', loop: 1, covered: true, row: 1 },
        { question_id: 'q', loop: 1, covered: false, row: 2 },
        { question_id: 'q', loop: 1, covered: true },
      ],
      ', line 3, question "q": contradicts line 2 on loop 1',
    ],
    [[], ': no verdict in this file'],
  ];
  for (const [lines, message] of cases) {
    const file = await verdictFile(lines);
    await assert.rejects(fileDecider(file), { name: 'InputError', message: file + message });
  }
  const own = await verdictFile([{ question_id: 'q', loop: 1, covered: false, p: 0.9 }]);
  assert.equal((await fileDecider(own, { threshold: 0.95 })).scan.threshold.pAtLeast, 0.95);
});

test('P10: a MuSiQue step without a paragraph is a gold page that is missing: never covered by the other steps', async () => {
  const record = recordOf([['P', 'Born in Oslo.']], {
    decomposition: [
      { question: 'P >> birthplace', answer: 'Oslo', page: 0 },
      { question: '#1 >> country', answer: 'Norway', page: null },
    ],
  });
  assert.deepEqual(await decided(goldDecider(), record, trajectoryOf([[[0, 0]]])), {
    claims: 0,
    noClaims: 'gold_page_missing',
    verdicts: [],
  });
});
