// Own questions needed → held-out agreement and call cut, with every rule and each dataset as the target. After compiling the tests:
//   CLAIMS=gold CLAIM_TEXT=subquestion-or-title node build/bench/transfer.js RUN…      (REPETITIONS, default 1000; BAR, default 0.9)
import type { ClaimText } from '../src/core/claims.js';
import { type OwnRule, joinRuns, loadRun, textTable, transferCurve } from '../src/evaluate/index.js';

const RULES: OwnRule[] = [
  { rule: 'lodo' },
  { rule: 'alone' },
  { rule: 'spare' },
  ...[10, 25, 50, 100].map((weight) => ({ rule: 'prior' as const, weight })),
  ...[10, 25, 50].map((weight) => ({ rule: 'spare prior' as const, weight })),
  { rule: 'larger' },
  { rule: 'smaller' },
  { rule: 'between', weight: 50 },
  { rule: 'guarantee', delta: 0.1 },
  { rule: 'guarantee', delta: 0.05 },
];

const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.log('transfer: left out, no runs given; node build/bench/transfer.js RUN…');
} else {
  const { CLAIMS = 'gold', CLAIM_TEXT, ENCODER = 'minilm', DECIDER = 'gold', REPETITIONS = '1000', BAR = '0.9' } = process.env;
  const [bar, repetitions] = [Number(BAR), Number(REPETITIONS)];
  const loaded = [];
  for (const folder of folders)
    loaded.push(
      await loadRun(folder, { decider: DECIDER, claims: CLAIMS, encoder: ENCODER, claimText: CLAIM_TEXT as ClaimText | undefined }),
    );
  const { datasets } = joinRuns(loaded);
  console.log(`claims ${CLAIMS}, encoder ${ENCODER}, decider ${DECIDER}, bar ${bar}, ${repetitions} draws, grid 0.005, seed 13`);
  for (const target of datasets) {
    const others = datasets.filter((one) => one !== target);
    const curve = transferCurve(target, others, { rules: RULES, bar, repetitions });
    console.log(
      `\n${curve.target}: ${curve.questions} questions; own frontier ${curve.frontier.callCut.toFixed(3)} (τ ${curve.frontier.tau})`,
    );
    // Without own questions the size only sets how many questions are left to measure on.
    const shown = curve.points.filter(({ rule }, at) => rule.rule !== 'lodo' || at === 0);
    const rows = shown.map(({ rule, own, agreement, callCut, missed, alwaysCalls }) => [
      [rule.rule, 'weight' in rule ? rule.weight : '', 'delta' in rule ? `δ ${rule.delta}` : ''].join(' ').trim(),
      String(own),
      ...[agreement, callCut].flatMap(({ mean, low, high, resampled }) => [
        mean.toFixed(3),
        range({ low, high }),
        resampled === null ? '–' : range(resampled),
      ]),
      missed.toFixed(3),
      alwaysCalls.toFixed(3),
    ]);
    const figures = ['mean', '95% of draws', 'with questions'];
    console.log(
      textTable(
        ['rule', 'own', ...figures.map((one) => `agreement ${one}`), ...figures.map((one) => `cut ${one}`), 'missed', 'calls always'],
        rows,
      ),
    );
  }
}

function range({ low, high }: { low: number; high: number }): string {
  return `[${low.toFixed(3)}, ${high.toFixed(3)}]`;
}
