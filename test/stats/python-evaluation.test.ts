// What the evaluation tests with, against scipy and statsmodels; the laws beneath it are in python-agreement.test.ts.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate } from 'node:timers/promises';

import { random } from '../../src/core/random.js';
import {
  binomialSelection,
  binomialTest,
  clopperPearson,
  holmFamily,
  learnThenTest,
  mcnemarPower,
  mean,
  minimumDetectableEffect,
  newcombePaired,
  normalPower,
  normalTest,
  pairedEffect,
  questionsForPower,
  standardDeviation,
} from '../../src/stats/index.js';
import { pythonOrSkip, runPython } from '../support/python.js';

type Question = [name: string, values: unknown[]];

/** The issue asks for 1e-9; both sides are doubles computed in another order, good to about 1e-12. */
function assertClose(ours: number, theirs: number, what: string): void {
  assert.ok(Math.abs(ours - theirs) <= 1e-9 * Math.max(Math.abs(theirs), 1e-3), `${what}: ours ${ours}, theirs ${theirs}`);
}

interface Comparison {
  questions: Question[];
  /** `theirs` holds one answer a question, in their order. */
  check: (theirs: unknown[]) => void;
}

const asked: Question[] = [];
let answers: unknown[] | undefined;

/** A test on Python's answers. All tests ask one process: scipy and statsmodels take longer to start than to answer. */
function compare(name: string, comparison: () => Comparison): void {
  const { questions, check } = comparison();
  const from = asked.length;
  asked.push(...questions);
  test(name, async (t) => {
    const python = pythonOrSkip(t, ['scipy', 'statsmodels']);
    if (python === undefined) return;
    // Until every test below has asked.
    await setImmediate();
    answers ??= runPython(python, 'stats_oracle.py', asked) as unknown[];
    check(answers.slice(from, from + questions.length));
  });
}

compare('Newcombe’s paired interval equals the one made of statsmodels’ Wilson ends and numpy’s correlation, at three levels', () => {
  const stream = random(13, 'newcombe tables');
  const tables = [
    [1_000, 167, 30, 15],
    [885, 67, 9, 6],
    [50, 0, 0, 0],
    [50, 50, 0, 0],
    [40, 0, 40, 0],
    [30, 12, 0, 3],
    ...Array.from({ length: 40 }, () => {
      const [both, a, b, neither] = [0, 0, 0, 0].map(() => stream.int(40)) as [number, number, number, number];
      return [both + a + b + neither + 1, both, a, b];
    }),
  ] as [number, number, number, number][];
  const levels = [0.9, 0.95, 0.99];
  return {
    questions: levels.flatMap((level) => tables.map((table): Question => ['newcombe', [...table, level]])),
    check: (values) => {
      const theirs = values as [number, number, number][];
      for (const [l, level] of levels.entries()) {
        for (const [i, [n, bothRight, onlyA, onlyB]] of tables.entries()) {
          const { difference, low, high } = newcombePaired({ n, bothRight, onlyA, onlyB, level });
          const [d, below, above] = theirs[l * tables.length + i] as [number, number, number];
          // Where both answers are always the same the ends are 0 to within the root of a rounding, on either side.
          for (const [ours, their] of [
            [difference, d],
            [low, below],
            [high, above],
          ] as const) {
            assert.ok(
              Math.abs(ours - their) < (onlyA + onlyB === 0 ? 1e-7 : 1e-9),
              `${n} ${bothRight} ${onlyA} ${onlyB}: ${ours} ${their}`,
            );
          }
        }
      }
    },
  };
});

compare('the binomial test equals scipy.stats.binomtest, the exact interval statsmodels’ beta method', () => {
  const stream = random(13, 'binomial tests');
  const cases = [
    [0, 10, 0.5],
    [10, 10, 0.5],
    [5, 10, 0.5],
    [1_098, 1_200, 0.9],
    [3, 1_000, 0.001],
    ...Array.from({ length: 60 }, () => {
      const n = 1 + stream.int(400);
      return [stream.int(n + 1), n, [0.02, 0.1, 0.5, 0.77, 0.9][stream.int(5)] as number];
    }),
  ] as [number, number, number][];
  const alternatives = ['two-sided', 'greater', 'less'] as const;
  return {
    questions: [
      ...alternatives.flatMap((alternative) => cases.map((one): Question => ['binomial_test', [...one, alternative]])),
      ...cases.map(([k, n]): Question => ['clopper_pearson', [k, n, 0.95]]),
    ],
    check: (theirs) => {
      for (const [a, alternative] of alternatives.entries()) {
        for (const [i, [successes, n, p]] of cases.entries()) {
          const ours = binomialTest({ successes, n, p, alternative }).p;
          const their = theirs[a * cases.length + i] as number;
          if (their > 1e-290) assert.ok(Math.abs(ours - their) <= 1e-9 * their, `${alternative} ${successes}/${n}, ${p}: ${ours} ${their}`);
        }
      }
      for (const [i, [successes, n]] of cases.entries()) {
        const [low, high] = theirs[alternatives.length * cases.length + i] as [number, number];
        const ours = clopperPearson({ successes, n });
        assertClose(ours.low, low, `low of ${successes}/${n}`);
        assertClose(ours.high, high, `high of ${successes}/${n}`);
      }
    },
  };
});

compare('the normal test equals statsmodels’ ztest on the questions’ differences', () => {
  const stream = random(13, 'z tests');
  const differences = Array.from({ length: 120 }, () => stream.int(3) - 1 + 0.05);
  const claims = [
    ['above', 'larger'],
    ['below', 'smaller'],
    ['different', 'two-sided'],
  ] as const;
  return {
    questions: claims.map(([, alternative]): Question => ['z_test', [differences, -0.02, alternative]]),
    check: (values) => {
      const theirs = values as [number, number][];
      const boot = { estimate: mean(differences), standardError: standardDeviation(differences) / Math.sqrt(120) };
      for (const [i, [claim]] of claims.entries()) {
        const { z, p } = normalTest(boot, { bound: -0.02, claim });
        assertClose(z, (theirs[i] as [number, number])[0], `z, ${claim}`);
        assertClose(p, (theirs[i] as [number, number])[1], `p, ${claim}`);
      }
    },
  };
});

compare('power and planned sizes equal statsmodels’ normal_power and NormalIndPower', () => {
  const cases = [
    [0.02, 0.16, 1_000, 0.025, 'larger'],
    [0.018, 0.2, 400, 0.05, 'two-sided'],
    [-0.3, 1.5, 100, 0.05, 'smaller'],
    [0, 1, 50, 0.05, 'two-sided'],
    [0.5, 1, 12, 0.1, 'two-sided'],
  ] as const;
  const planned = cases.filter(([effect]) => effect !== 0);
  return {
    questions: [
      ...cases.map(([effect, sigma, n, level, alternative]): Question => ['normal_power', [effect, n, level, alternative, sigma]]),
      ...planned.map(([effect, sigma, , level, alternative]): Question => ['questions', [effect, sigma, level, 0.8, alternative]]),
      ['normal_quantile', [0.975]],
      ['normal_quantile', [0.8]],
    ],
    check: (values) => {
      const theirs = values as number[];
      for (const [i, [effect, deviation, n, level, alternative]] of cases.entries()) {
        assertClose(normalPower({ effect, standardDeviation: deviation, n, level, alternative }), theirs[i] as number, `power ${i}`);
      }
      for (const [i, [effect, deviation, , level, alternative]] of planned.entries()) {
        const ours = questionsForPower({ effect, standardDeviation: deviation, level, alternative });
        assert.equal(ours, Math.ceil(theirs[cases.length + i] as number), `${effect}`);
      }
      const [level, found] = theirs.slice(-2) as [number, number];
      assertClose(minimumDetectableEffect({ standardError: 0.3 }), 0.3 * (level + found), 'minimum detectable effect');
    },
  };
});

compare('the exact power of McNemar equals the sum over all tables of scipy’s multinomial and binomtest', () => {
  const cases = [
    [12, 0.3, 0.1, 0.05],
    [40, 0.2, 0.05, 0.05],
    [60, 0.05, 0.05, 0.1],
    [25, 0.4, 0, 0.05],
  ] as const;
  return {
    questions: cases.map((one): Question => ['mcnemar_power', [...one]]),
    check: (values) => {
      const theirs = values as number[];
      for (const [i, [n, onlyA, onlyB, level]] of cases.entries()) {
        assertClose(mcnemarPower({ n, onlyA, onlyB, level }), theirs[i] as number, `n ${n}`);
      }
    },
  };
});

compare('both selections certify what scipy’s binomial tails and statsmodels’ Bonferroni certify', () => {
  const stream = random(13, 'selections');
  const cases = Array.from({ length: 30 }, () => {
    const n = 20 + stream.int(400);
    const agreeing = Array.from({ length: 12 }, () => n - stream.int(Math.ceil(0.15 * n))).sort((x, y) => y - x);
    return { agreeing, n, bar: 0.9, delta: 0.1 };
  });
  return {
    questions: ['walk', 'selection'].flatMap((name) => cases.map((one): Question => [name, [one.agreeing, one.n, one.bar, one.delta]])),
    check: (theirs) => {
      for (const [i, one] of cases.entries()) {
        assert.equal(learnThenTest(one).certified, theirs[i]);
        const [p, certified] = theirs[cases.length + i] as [number[], boolean[]];
        const ours = binomialSelection(one);
        assert.deepEqual(ours.certified, certified);
        for (const [j, value] of p.entries()) assert.ok(Math.abs((ours.p[j] as number) - value) <= 1e-9 * value, `p ${i} ${j}`);
      }
    },
  };
});

compare('a family without its degenerate cells equals statsmodels on the cells that are left', () => {
  const cells = [0.0002, Number.NaN, 0.03, 0.012, 0.4].map((p, i) => ({ name: `cell ${i}`, p, degenerate: Number.isNaN(p) }));
  return {
    questions: [['holm', [[0.0002, 0.03, 0.012, 0.4]]]],
    check: (values) => {
      const theirs = values as [number[], boolean[]][];
      const [[adjusted, rejected]] = theirs as [[number[], boolean[]]];
      const { tests, leftOut } = holmFamily(cells);
      assert.deepEqual(leftOut, ['cell 1']);
      for (const [i, one] of tests.entries()) assertClose(one.adjusted, adjusted[i] as number, one.name);
      assert.deepEqual(
        tests.map((one) => one.rejected),
        rejected,
      );
    },
  };
});

compare('effect sizes equal numpy’s means and scipy’s paired t over √n', () => {
  const stream = random(13, 'effects');
  const system = Array.from({ length: 80 }, () => 1 + stream.int(6));
  const reference = system.map((loops) => Math.min(6, loops + stream.int(3)));
  return {
    questions: [['effect', [system, reference]]],
    check: (values) => {
      const theirs = values as [number, number, number][];
      const ours = pairedEffect({ system, reference });
      const [difference, relative, standardised] = theirs[0] as [number, number, number];
      assertClose(ours.difference, difference, 'difference');
      assertClose(ours.relative, relative, 'relative');
      assertClose(ours.standardised, standardised, 'standardised');
    },
  };
});
