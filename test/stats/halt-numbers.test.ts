// Numbers of HALT (arXiv 2608.02009v3) that follow from others it prints. Inputs stand for all that round to them.
import assert from 'node:assert/strict';
import { test } from 'node:test';

import { mcnemarExact, newcombePaired, nonInferiority, pairedBootstrap } from '../../src/stats/index.js';
import { assertMeets, assertWhole, exact, minus, over, plus, printed, rest, times } from './printed-values.js';

const percent = exact(100);

/** Table 10, with n and the reference's correct count from Tables 1 and 16 (MuSiQue gold: 885 valid rows, 73 right, appendix E.6). */
const CELLS = [
  {
    cell: '2Wiki gen',
    n: 1_000,
    full: 182,
    fullOnly: 11,
    haltOnly: 14,
    delta: '0.3',
    boot: ['-0.7', '1.3'],
    newcombe: ['-0.7', '1.3'],
    p: '0.690',
  },
  {
    cell: '2Wiki gold',
    n: 1_000,
    full: 184,
    fullOnly: 15,
    haltOnly: 30,
    delta: '1.5',
    boot: ['0.2', '2.8'],
    newcombe: ['0.2', '2.8'],
    p: '0.036',
  },
  {
    cell: 'HotpotQA gen',
    n: 1_000,
    full: 306,
    fullOnly: 17,
    haltOnly: 16,
    delta: '-0.1',
    boot: ['-1.3', '1.1'],
    newcombe: ['-1.2', '1.0'],
    p: '1.000',
  },
  {
    cell: 'HotpotQA gold',
    n: 1_000,
    full: 306,
    fullOnly: 40,
    haltOnly: 31,
    delta: '-0.9',
    boot: ['-2.6', '0.8'],
    newcombe: ['-2.6', '0.8'],
    p: '0.342',
  },
  {
    cell: 'MuSiQue gen',
    n: 1_000,
    full: 76,
    fullOnly: 1,
    haltOnly: 0,
    delta: '-0.1',
    boot: ['-0.3', '0.0'],
    newcombe: ['-0.5', '0.3'],
    p: '1.000',
  },
  {
    cell: 'MuSiQue gold',
    n: 885,
    full: 73,
    fullOnly: 6,
    haltOnly: 9,
    delta: '0.3',
    boot: ['-0.6', '1.2'],
    newcombe: ['-0.6', '1.3'],
    p: '0.607',
  },
] as const;

for (const { cell, n, full, fullOnly, haltOnly, delta, boot, newcombe, p } of CELLS) {
  test(`P99: Table 10, ${cell}: difference, Newcombe interval and McNemar p come from the counts`, () => {
    const ours = newcombePaired({ n, bothRight: full - fullOnly, onlyA: haltOnly, onlyB: fullOnly });
    assertMeets(exact(100 * ours.difference), delta, 'difference');
    assertMeets(exact(100 * ours.low), newcombe[0], 'low');
    assertMeets(exact(100 * ours.high), newcombe[1], 'high');
    assertMeets(exact(mcnemarExact({ onlyA: haltOnly, onlyB: fullOnly }).p), p, 'p');
  });

  test(`Tables 9 and 10, ${cell}: the bootstrap interval and the verdict come from the counts`, () => {
    const difference = pairedBootstrap({
      columns: { difference: Array.from({ length: n }, (_, i) => (i < haltOnly ? 1 : i < haltOnly + fullOnly ? -1 : 0)) },
      statistic: (total, { units }) => total.difference / units,
    });
    // Its ends come from 1,000 resamples: a 2.5% quantile has a standard error of √(0.025·0.975/1000)/φ(1.96) = 0.085 standard errors, four of
    // which are 0.34; and the values lie on a grid of 100/n points.
    const slack = 100 * 0.34 * difference.standardError + 100 / n;
    for (const [ours, theirs] of [
      [difference.low, boot[0]],
      [difference.high, boot[1]],
    ] as const) {
      assertMeets({ low: 100 * ours - slack, high: 100 * ours + slack }, theirs, 'end');
    }
    // The one failing cell of the family of twelve.
    assert.equal(nonInferiority(difference, { margin: 0.02 }).nonInferior, cell !== 'HotpotQA gold');
  });
}

test('Table 1: differences and shares of loops follow from the two columns, and agree with Table 9', () => {
  const rows = [
    ['0.184', '0.199', '1.5', '5.52', '3.46', '-37', '-2.053', 1_000],
    ['0.306', '0.297', '-0.9', '5.71', '3.15', '-45', '-2.557', 1_000],
    ['0.083', '0.086', '0.3', '5.56', '4.47', '-20', '-1.089', 885],
  ] as const;
  for (const [full, halt, delta, fullLoops, haltLoops, share, loops, n] of rows) {
    assertMeets(times(percent, minus(printed(halt), printed(full))), delta, 'ΔEM');
    assertMeets(minus(printed(haltLoops), printed(fullLoops)), loops, 'Δloops');
    assertMeets(times(percent, over(printed(loops), printed(fullLoops))), share, 'share of loops');
    // MuSiQue's 0.083 is none: 73 of 885 are 0.0825 (DESIGN.md).
    for (const em of full === '0.083' ? [halt] : [full, halt]) assertWhole(em, n, 'EM');
  }
});

test('Tables 4 and 16: generated claims’ loops, their shares and differences', () => {
  const rows = [
    ['0.182', '0.185', '0.3', '5.52', '4.56', '-0.953', '-17'],
    ['0.306', '0.305', '-0.1', '5.71', '4.69', '-1.012', '-18'],
    ['0.076', '0.075', '-0.1', '5.52', '5.40', '-0.115', '-2'],
  ] as const;
  for (const [full, halt, delta, fullLoops, haltLoops, loops, share] of rows) {
    assertMeets(times(percent, minus(printed(halt), printed(full))), delta, 'ΔEM');
    assertMeets(minus(printed(haltLoops), printed(fullLoops)), loops, 'Δloops');
    assertMeets(times(percent, over(printed(loops), printed(fullLoops))), share, 'share of loops');
  }
});

test('Table 3: the full-population gain is that of the flagged questions, recovered and not, over all', () => {
  const rows = [
    [290, 221, '26.2', '2.7', 511, 1_000, '8.2'],
    [311, 324, '7.7', '0.9', 635, 1_000, '2.7'],
    // Unique questions.
    [135, 588, '15.6', '3.1', 723, 911, '4.3'],
  ] as const;
  for (const [recovered, others, gain, otherGain, flagged, n, delta] of rows) {
    assert.equal(recovered + others, flagged);
    const gained = plus(times(exact(recovered), printed(gain)), times(exact(others), printed(otherGain)));
    assertMeets(over(gained, exact(n)), delta, 'full population');
    if (n === 1_000 && flagged === 511) assertMeets(over(gained, exact(flagged)), '16.0', 'flagged questions');
  }
  for (const [recovered, others, flagged] of [
    [114, 397, 511],
    [182, 453, 635],
    [14, 709, 723],
  ] as const) {
    assert.equal(recovered + others, flagged);
  }
  assertMeets(times(percent, over(exact(290), exact(511))), '57', 'reached coverage when forced');
  assertMeets(times(percent, over(exact(135), exact(723))), '19', 'reached coverage on MuSiQue');
  for (const [flagged, share] of [
    [511, '51'],
    [635, '64'],
    [793, '79'],
  ] as const) {
    assertMeets(over(exact(flagged), exact(10)), share, 'under-covered');
  }
  // 793 rows less 60 and 10 duplicates; 60 + 10 + 19 = 89 = 1,000 − 911.
  assert.deepEqual([793 - 60 - 10, 60 + 10 + 19], [723, 1_000 - 911]);
  assertMeets(times(percent, minus(printed('0.323'), printed('0.162'))), '16.0', 'EM forced less native');
  assertMeets(times(percent, minus(printed('0.323'), printed('0.311'))), '1.2', 'coverage against the whole budget');
});

test('Tables 5 and 12: the 7B extractor’s differences', () => {
  for (const [full, halt, delta] of [
    ['0.305', '0.300', '-0.5'],
    ['0.431', '0.424', '-0.7'],
    ['0.120', '0.124', '0.4'],
  ] as const) {
    assertMeets(times(percent, minus(printed(halt), printed(full))), delta, 'ΔEM');
  }
});

test('Tables 6, 7 and 8: rows, page overlap, the drop of the other way of training', () => {
  for (const [pages, of, share] of [
    [1_198, 1_976, '60.6'],
    [53, 2_343, '2.3'],
    [10, 950, '1.1'],
  ] as const) {
    assertMeets(times(percent, over(exact(pages), exact(of))), share, 'page overlap');
  }
  assert.equal(9_626 + 2_374, 12_000);
  assertMeets(times(percent, minus(printed('0.911'), printed('0.859'))), '5.2', 'drop of macro-F1');
});

test('Tables 4 and 15: FLARE’s averages and differences from full', () => {
  const full = ['0.182', '0.306', '0.076'] as const;
  const rows = [
    [['0.179', '0.210', '0.037'], '0.142', null],
    [['0.181', '0.243', '0.044'], '0.156', ['-0.1', '-6.3', '-3.2']],
    [['0.185', '0.268', '0.070'], '0.174', ['0.3', '-3.8', '-0.6']],
    [full, '0.188', null],
  ] as const;
  for (const [ems, average, deltas] of rows) {
    assertMeets(over(plus(...ems.map(printed)), exact(3)), average, 'average');
    for (const [i, delta] of deltas?.entries() ?? []) {
      assertMeets(times(percent, minus(printed(ems[i] as string), printed(full[i] as string))), delta, 'ΔEM');
    }
  }
});

test('Tables 17 and 18: the sweep’s residual at τ = 0 stays within the 1.8 points, 0.03 loops and 0.7 points of EM that are printed', () => {
  const rows = [
    // fire, EM, loops: sweep and primary.
    [
      ['0.594', '0.591'],
      ['0.195', '0.199'],
      ['3.44', '3.46'],
    ],
    [['0.658', '0.676'], ['0.290', '0.297'], null],
    [
      ['0.298', '0.294'],
      ['0.0859', '0.0859'],
      ['4.44', '4.47'],
    ],
  ] as const;
  for (const pairs of rows) {
    for (const [i, most] of [0.018, 0.007, 0.03].entries()) {
      const pair = pairs[i];
      if (pair === undefined || pair === null) continue;
      const { low, high } = minus(printed(pair[0]), printed(pair[1]));
      assert.ok(low <= most && high >= -most, pair.join(' '));
    }
  }
});

test('Table 19 and its text: Setting B’s shares, the 64 fired questions, Bamboogle’s 3 and 13', () => {
  assertMeets(times(percent, over(minus(printed('3.96'), printed('4.12')), printed('4.12'))), '-4', 'loops on HotpotQA B');
  assertMeets(times(percent, over(minus(printed('3.312'), printed('3.336')), printed('3.336'))), '-0.7', 'loops on Bamboogle');
  assertMeets(times(percent, over(minus(printed('3.168'), printed('3.336')), printed('3.336'))), '-5.0', 'loops of any_match');
  // 25 and 23 of the 64 are right at the stop and at the end: 7 gained, 5 lost.
  assertMeets(over(exact(25), exact(64)), '0.391', 'EM at the stop');
  assertMeets(over(exact(23), exact(64)), '0.359', 'EM at the end');
  assertMeets(times(percent, over(exact(2), exact(64))), '3.1', 'fired subset');
  assertMeets(times(percent, over(exact(7 - 5), exact(1_000))), '0.20', 'population');
  assertMeets(over(exact(25 / 64), exact(0.109)), '3.58', 'lift');
  assertMeets(times(percent, exact(25 / 64 - 0.109)), '28.2', 'ΔEM of the fired');
  assertMeets(over(exact(109 - 23), exact(1_000 - 64)), '0.092', 'EM of those that did not fire');
  // any_match: 184 fired, of which 48 right is the one whole number that gives both figures.
  assertMeets(over(exact(48 / 184), exact(0.109)), '2.39', 'lift of any_match');
  assertMeets(times(percent, exact(48 / 184 - 0.109)), '15.2', 'ΔEM of any_match');
  assertMeets(times(percent, over(exact(64), exact(1_000))), '6.4', 'fire rate');
  for (const [count, of, share] of [
    [3, 125, '0.024'],
    [13, 125, '0.104'],
    [9, 125, '0.072'],
    [8, 125, '0.064'],
    [1, 3, '0.333'],
    [4, 13, '0.308'],
    [3, 13, '0.231'],
  ] as const) {
    assertMeets(over(exact(count), exact(of)), share, `${count} of ${of}`);
  }
});

test('Table 21: verifier tokens are calls × 197.86 × 3 label passes, net tokens what is left of them, latency calls × 116 ms', () => {
  const rows = [
    ['8.58', '98', '5,092', '4,993', '1.00', '-2.557'],
    ['10.98', '39', '6,518', '6,479', '1.27', '-1.012'],
    ['9.66', '66', '5,735', '5,669', '1.12', '-2.053'],
    ['10.31', '31', '6,122', '6,092', '1.20', '-0.953'],
    ['12.03', '41', '7,142', '7,101', '1.40', '-1.089'],
    ['14.33', '4', '8,507', '8,503', '1.66', '-0.115'],
  ] as const;
  const perLoop = rows.map(([calls, saved, tokens, net, latency, loops]) => {
    const read = times(printed(calls), printed('197.86'), exact(3));
    assertMeets(read, tokens, 'tokens processed');
    assertMeets(minus(read, printed(saved)), net, 'net of tokens recomputed');
    assertMeets(minus(printed(tokens), printed(saved)), net, 'net of tokens printed');
    assertMeets(times(printed(calls), exact(0.116)), latency, 'batched latency');
    return over(printed(saved), times(exact(-1), printed(loops)));
  });
  // One dataset's generator writes as many tokens a loop under gold and under generated claims.
  for (const [gold, gen] of [
    [0, 1],
    [2, 3],
    [4, 5],
  ] as const) {
    const [a, b] = [perLoop[gold], perLoop[gen]];
    assert.ok(a !== undefined && b !== undefined && a.low <= b.high && b.low <= a.high, `rows ${gold} and ${gen}`);
  }
  // Spec's arithmetic on the first row: 8.58 · 197.86 · 3 = 5,092.9, less 98 = 4,994.9.
  assert.equal((8.58 * 197.86 * 3).toFixed(1), '5092.9');
  // Table 20 rounds the same calls.
  for (const [calls, rounded] of [
    ['9.66', '9.7'],
    ['8.58', '8.6'],
    ['12.03', '12.03'],
  ] as const) {
    assertMeets(printed(calls), rounded, 'calls of Table 20');
  }
});

test('Table 22: seconds saved, their shares, and the seconds an avoided loop costs', () => {
  const full = printed('47.40');
  for (const [arm, saved, share] of [
    ['30.94', '-16.45', '-35'],
    ['40.62', '-6.77', '-14'],
  ] as const) {
    assertMeets(minus(printed(arm), full), saved, 'seconds');
    assertMeets(times(percent, over(minus(printed(arm), full), full)), share, 'share');
  }
  const loops = minus(printed('5.80'), printed('3.49'));
  assertMeets(loops, '2.31', 'avoided loops');
  assertMeets(over(printed('16.45'), loops), '7.1', 'seconds a loop');
});

test('Table 23, Figure 6 and appendix E: fire rates of 885 valid rows and of 1,000, and the questions that never fire', () => {
  // 0.294 of 885 rows is 0.260 of 1,000.
  assertMeets(over(times(printed('0.294'), exact(885)), exact(1_000)), '0.260', 'MuSiQue over all rows');
  assertMeets(times(percent, rest(printed('0.591'))), '41', 'never on 2Wiki');
  assertMeets(times(percent, rest(printed('0.676'))), '32', 'never on HotpotQA');
  // EM over 885 rows and over 1,000 of which 115 are never right: about a point.
  assertMeets(times(percent, minus(over(exact(73), exact(885)), over(exact(73), exact(1_000)))), '1', 'the rows left out');
});

test('appendix E.6: the discordant counts of MuSiQue come back from fire and safe-stop rates, over the 812 valid rows that full gets wrong', () => {
  const lost = times(exact(73), printed('0.51'), rest(printed('0.84')));
  assertMeets(lost, '6', 'right under full alone');
  const gained = times(exact(885 - 73), printed('0.27'), rest(printed('0.96')));
  assertMeets(gained, '9', 'right under HALT alone');
  const fired = plus(times(exact(73), printed('0.51')), times(exact(885 - 73), printed('0.27')));
  assertMeets(over(fired, exact(885)), '0.294', 'fire rate');
});
