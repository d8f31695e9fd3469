// Numbers of CoVeR that follow from others it prints. Inputs stand for all that round to them.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { breakEven } from '../../src/evaluate/index.js';
import { holmFamily, minimumDetectableEffect, normalQuantile, normalTest, tost } from '../../src/stats/index.js';
import { assertMeets, assertWhole, exact, minus, over, plus, printed, rest, shareOf, times, type Range } from './printed-values.js';

const percent = exact(100);
const SETS = ['HotpotQA', '2Wiki', 'MuSiQue'] as const;

test('Table 1: differences follow from the EMs, and every EM is a whole number of its questions', () => {
  const rows = [
    ['0.3060', '0.3040', '0.3050', '-0.20', '-0.10', 1_000],
    ['0.1840', '0.1870', '0.1850', '0.30', '0.20', 1_000],
    ['0.0801', '0.0812', '0.0812', '0.11', '0.00', 911],
  ] as const;
  for (const [full, gated, always, toFull, toAlways, n] of rows) {
    assertMeets(times(percent, minus(printed(gated), printed(full))), toFull, 'against full');
    assertMeets(times(percent, minus(printed(gated), printed(always))), toAlways, 'against always-verify');
    for (const em of [full, gated, always]) assertWhole(em, n, 'EM');
  }
  assertMeets(times(percent, exact((74 - 73) / 911)), '0.11', 'one question of 911');
  // §6.1: three of 155 questions.
  assertMeets(times(percent, exact(-3 / 155)), '-1.94', 'the decider-stop path');
});

test('Table 3, appendix G: how much better the margin is than the learned router, the lexical one and random skips', () => {
  for (const [a, b, points] of [
    ['0.622', '0.435', '18.6'],
    ['0.623', '0.563', '6.0'],
    ['0.910', '0.846', '6.4'],
    ['0.886', '0.816', '7.0'],
    ['0.976', '0.970', '0.6'],
    ['0.874', '0.828', '4.6'],
  ] as const) {
    assertMeets(times(percent, minus(printed(a), printed(b))), points, `${a} − ${b}`);
  }
});

test('Table 4: differences follow from the EMs, and every EM is a whole number of its questions', () => {
  const rows = [
    ['0.2690', '0.2669', '0.21', 959],
    ['0.1506', '0.1506', '0.00', 996],
    ['0.0700', '0.0700', '0.00', 871],
    ['0.2925', '0.2825', '1.00', 400],
    ['0.1650', '0.1625', '0.25', 400],
    ['0.0625', '0.0625', '0.00', 384],
    ['0.1120', '0.1090', '0.30', 1_000],
  ] as const;
  for (const [ours, reference, delta, n] of rows) {
    assertMeets(times(percent, minus(printed(ours), printed(reference))), delta, `${ours} − ${reference}`);
    for (const em of [ours, reference]) assertWhole(em, n, 'EM');
  }
});

test('Table 5: differences follow from EMs that are whole numbers of 400 and of 384 questions', () => {
  const rows = [
    ['.260', '.233', '2.8', 400],
    ['.278', '.258', '2.0', 400],
    ['.152', '.140', '1.3', 400],
    ['.150', '.142', '0.8', 400],
    ['.068', '.057', '1.0', 384],
    ['.068', '.062', '0.5', 384],
    ['.280', '.260', '2.0', 400],
    ['.285', '.273', '1.3', 400],
    ['.155', '.155', '0.0', 400],
    ['.160', '.163', '-0.3', 400],
    ['.065', '.060', '0.5', 384],
    ['.065', '.057', '0.8', 384],
  ] as const;
  for (const [gated, pure, delta, n] of rows) {
    assertMeets(times(percent, minus(printed(gated), printed(pure))), delta, `${gated} − ${pure}`);
    for (const em of [gated, pure]) assertWhole(em, n, 'EM');
  }
});

/** Table 8: ΔEM against full and its interval, in points. */
const AGAINST_FULL = [
  ['-0.20', '-1.20', '0.80', 1_000, '1.42'],
  ['0.30', '-0.60', '1.20', 1_000, '1.23'],
  ['0.11', '-0.22', '0.55', 911, '0.54'],
] as const;

/** Standard error in points from an interval's ends, each of which stands anywhere within half a step of its grid, 100/n points. */
function standardError(low: string, high: string, n: number): Range {
  const grid = 100 / n;
  const width = minus(printed(high), printed(low));
  return over({ low: width.low - grid, high: width.high + grid }, exact(2 * normalQuantile(0.975)));
}

test('Tables 7 and 8: the minimum detectable effect is 2.80 standard errors of the interval', () => {
  for (const [, low, high, n, mde] of AGAINST_FULL) {
    const factor = exact(minimumDetectableEffect({ standardError: 1 }));
    assertMeets(times(factor, standardError(low, high, n)), mde, `${low} to ${high}`);
  }
});

test('Table 7: the verdicts at 1, 1.5 and 2 points are those of Table 8’s intervals', () => {
  const expected = [
    [false, true, true],
    [true, true, true],
    [true, true, true],
  ];
  for (const [i, [, low]] of AGAINST_FULL.entries()) {
    assert.deepEqual(
      [1, 1.5, 2].map((margin) => Number(low) > -margin),
      expected[i],
    );
  }
  // Where the 95% interval lies inside ±1 the 90% one does.
  for (const [low, high] of [
    ['-0.60', '0.40'],
    ['-0.40', '0.80'],
  ] as const) {
    assert.ok(Number(low) > -1 && Number(high) < 1);
  }
});

test('appendix B: the largest adjusted p of the family is 0.0002, by the normal test on the standard errors, MuSiQue’s equivalence left out', () => {
  const middle = ({ low, high }: Range): number => (low + high) / 2;
  const inferiority = AGAINST_FULL.map(([delta, , , n, mde], i) => {
    // The printed minimum detectable effect is the finest print of the standard error.
    const error = middle(over(printed(mde), exact(minimumDetectableEffect({ standardError: 1 }))));
    assert.ok(n > 0);
    return { name: `${SETS[i]}, NI`, p: normalTest({ estimate: Number(delta), standardError: error }, { bound: -2, claim: 'above' }).p };
  });
  const equivalence = [
    ['-0.10', '-0.60', '0.40', 1_000],
    ['0.20', '-0.40', '0.80', 1_000],
    ['0.00', '0.00', '0.00', 911],
  ] as const;
  const cells = equivalence.map(([delta, low, high, n], i) => {
    const error = low === high ? 0 : middle(standardError(low, high, n));
    const { p, degenerate } = tost({ difference: Number(delta), standardError: error, margin: 2 });
    return { name: `${SETS[i]}, TOST`, p, degenerate };
  });
  const family = holmFamily([...inferiority, ...cells]);
  assert.deepEqual(family.leftOut, ['MuSiQue, TOST']);
  assert.ok(family.tests.length === 5 && family.tests.every((one) => one.rejected));
  assertMeets(exact(Math.max(...family.tests.map((one) => one.adjusted))), '0.0002', 'largest adjusted p');
  assert.equal(1_000 + 1_000 + 911, 2_911);
});

/** Table 9, with the calls a question that its text prints, and HALT's loops under generated claims (Table 16): always-verify calls once a loop. */
const STACK = [
  { pure: '9.43', tier1: '3.56', tier2: '2.22', cuts: ['62.3', '76.4'], calls: '1.78', loops: '4.69', cut: '62.2' },
  { pure: '9.22', tier1: '2.97', tier2: '1.93', cuts: ['67.8', '79.1'], calls: '1.47', loops: '4.56', cut: '67.8' },
  { pure: '11.08', tier1: '0.77', tier2: '0.41', cuts: ['93.1', '96.3'], calls: '0.38', loops: '5.40', cut: '93.0' },
] as const;

for (const [i, { pure, tier1, tier2, cuts, calls, loops, cut }] of STACK.entries()) {
  test(`Table 9, ${SETS[i]}: pairs ÷ calls is the same K, about 2, with and without the gate; the cuts follow`, () => {
    const always = over(printed(pure), printed(loops));
    const gated = over(printed(tier1), printed(calls));
    assert.ok(always.low <= gated.high && gated.low <= always.high, `${JSON.stringify(always)} ${JSON.stringify(gated)}`);
    assert.ok(always.low > 1.95 && always.high < 2.1);
    assertMeets(times(percent, rest(over(printed(tier1), printed(pure)))), cuts[0], 'tier 1');
    assertMeets(times(percent, rest(over(printed(tier2), printed(pure)))), cuts[1], 'tier 2');
    assertMeets(times(percent, rest(over(printed(calls), printed(loops)))), cut, 'call cut');
  });
}

test('appendix C: the two-threshold arm’s cuts, and the 4.3 points that it buys', () => {
  for (const [pairs, pure, cut] of [
    ['3.15', '9.43', '66.6'],
    ['2.95', '9.22', '68.0'],
    ['0.77', '11.08', '93.1'],
  ] as const) {
    assertMeets(times(percent, rest(over(printed(pairs), printed(pure)))), cut, pairs);
  }
  assertMeets(minus(printed('66.6'), printed('62.3')), '4.3', 'more call cut');
});

/** Table 10: a question's calls, pairs, tokens, milliseconds at batch 1 and batched; always-verify and gated. */
const MEASURED = [
  {
    always: ['4.69', '10.95', '3100', '4532', '1822'],
    gated: ['1.77', '3.02', '861', '1250', '502'],
    cuts: ['72', '72.4', '72.5'],
    added: '0.29',
  },
  {
    always: ['4.59', '10.22', '2801', '4223', '1643'],
    gated: ['1.41', '2.67', '749', '1102', '429'],
    cuts: ['73', '73.9', '73.9'],
    added: '0.49',
  },
  {
    always: ['5.42', '16.05', '4563', '6692', '2665'],
    gated: ['0.31', '0.47', '132', '195', '78'],
    cuts: ['97', '97.1', '97.1'],
    added: '0.07',
  },
] as const;

test('Table 10: the cuts of tokens and time follow from its rows, and so do milliseconds and tokens a pair', () => {
  for (const { always, gated, cuts } of MEASURED) {
    for (const [c, cut] of cuts.entries()) {
      assertMeets(times(percent, rest(over(printed(gated[c + 2] as string), printed(always[c + 2] as string)))), cut, 'cut');
    }
    // "161 – 166 ms batched", from 160.5 to 166.5.
    const batched = over(printed(always[4]), printed(always[1]));
    assert.ok(batched.high > 160.5 && batched.low < 166.5, JSON.stringify(batched));
  }
  // evaluation.md §2: 3,100 tokens on 10.95 pairs.
  assertMeets(over(printed('3100'), printed('10.95')), '283', 'tokens a pair');
});

test('Table 11: the verification shares follow from Table 10’s batched times and the loops', () => {
  const shares = [
    [
      ['60.8', '28.7'],
      ['28.0', '9.2'],
      ['8.9', '2.5'],
    ],
    [
      ['58.9', '25.3'],
      ['26.4', '7.8'],
      ['8.2', '2.1'],
    ],
    [
      ['66.3', '5.4'],
      ['33.0', '1.4'],
      // 10.947 from the middle of the printed inputs; their rounding reaches 10.96.
      ['11.0', '0.4'],
    ],
  ] as const;
  for (const [i, { always, gated, added }] of MEASURED.entries()) {
    const loops = printed(always[0]);
    for (const [j, generator] of [0.25, 1, 4].entries()) {
      const seconds = (text: string): Range => times(printed(text), exact(1e-3));
      const [before, after] = (shares[i] as (typeof shares)[number])[j] as readonly [string, string];
      const g = exact(generator);
      assertMeets(times(percent, shareOf(seconds(always[4]), times(g, loops))), before, `${SETS[i]}, g ${generator}, always`);
      const more = plus(loops, printed(added));
      assertMeets(times(percent, shareOf(seconds(gated[4]), times(g, more))), after, `${SETS[i]}, g ${generator}, gated`);
    }
  }
});

test('P107: break-even seconds a loop are the time saved over the added loops, batched and at batch 1', () => {
  const printedLimits = [
    ['4.5', '11.2'],
    ['2.5', '6.4'],
    ['39.7', '99.8'],
  ] as const;
  // evaluation.md §4: 4.47–4.63, 2.45–2.50, 34.5–39.8 are what the added loops' rounding allows.
  const ranges = [
    [4.47, 4.63],
    [2.45, 2.5],
    [34.5, 39.8],
  ] as const;
  for (const [i, { always, gated, added }] of MEASURED.entries()) {
    for (const [column, target] of [
      [4, printedLimits[i]?.[0]],
      [3, printedLimits[i]?.[1]],
    ] as const) {
      const saved = times(minus(printed(always[column]), printed(gated[column])), exact(1e-3));
      const limit = over(saved, printed(added));
      assertMeets(limit, target as string, `${SETS[i]}, column ${column}`);
      if (column !== 4) continue;
      const [low, high] = ranges[i] as readonly [number, number];
      assert.ok(Math.abs(limit.low - low) < 0.05 && Math.abs(limit.high - high) < 0.05, JSON.stringify(limit));
      // The product's own rule on the printed numbers lies in the same range.
      const ours = breakEven({ always: Number(always[4]) / 1e3, gated: Number(gated[4]) / 1e3, addedLoops: Number(added) });
      assert.ok(ours > limit.low && ours < limit.high);
    }
  }
  // A verifier three times as dear: "≈ 13 s" on HotpotQA.
  assertMeets(times(exact(3), over(minus(printed('1.822'), printed('0.502')), printed('0.29'))), '13', 'three times as dear');
  // g ≈ 7 s on HotpotQA: 0.29 · 7 − 1.32 = 0.71 s of 34.7 s.
  const more = minus(times(exact(7), printed('0.29')), minus(printed('1.822'), printed('0.502')));
  assertMeets(times(percent, over(more, plus(times(exact(7), printed('4.69')), printed('1.822')))), '2', 'end to end on HotpotQA');
});
