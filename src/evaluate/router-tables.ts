import { ROUTER_BARS, type RouterComparison, type RouterRow } from './compare-routers.js';
import { type Cells, figure, signedInterval } from './text-table.js';

/** Of each dataset the frontiers, the LODO points and random skipping, as cells. */
export function routerTables(compared: readonly RouterComparison[]): { title: string; cells: Cells }[] {
  return compared.flatMap(({ dataset, questions, rows, random }) => [
    {
      title: `${dataset}, ${questions} questions: largest call cut at an agreement, thresholds free`,
      cells: {
        header: ['system', ...(rows[0] as RouterRow).frontier.flatMap(({ bar }) => [`cut at ${bar.toFixed(2)}`, 'gate ahead by'])],
        rows: rows.map((row) => [
          row.deployable ? row.label : `${row.label} (a bound)`,
          ...row.frontier.flatMap(({ callCut, gateAhead }) => [figure(callCut), row.label === 'gate' ? '–' : signedInterval(gateAhead)]),
        ]),
      },
    },
    {
      title: `${dataset}: thresholds chosen on the other datasets`,
      cells: {
        header: ['system', 'τ', 'call cut', 'agreement', 'coverage safety', 'gate: call cut ahead by', 'gate: agreement ahead by'],
        rows: rows.flatMap(({ label, lodo }) => (lodo ? [lodoRow(label, lodo)] : [])),
      },
    },
    {
      title: `${dataset}: random skipping at the gate’s own call cut, ${random[0]?.seeds} seeds`,
      cells: {
        header: ['at', 'gate: call cut', 'random: call cut', 'gate: agreement', 'random: agreement', 'gate ahead by'],
        rows: random.map(randomRow),
      },
    },
  ]);
}

function lodoRow(label: string, { tau, callCut, agreement, coverageSafety, gateAhead }: NonNullable<RouterRow['lodo']>): string[] {
  const against = label === 'gate' ? ['–', '–'] : [signedInterval(gateAhead.callCut), signedInterval(gateAhead.agreement)];
  return [label, figure(tau), figure(callCut), figure(agreement), figure(coverageSafety), ...against];
}

function randomRow({ at, target, callCut, matched, agreement, gateAgreement, gateAhead }: RouterComparison['random'][number]): string[] {
  const range = ({ low, high }: { low: number; high: number }): string => `${figure(low)} to ${figure(high)}`;
  return [
    at === 'lodo' ? 'its LODO point' : `agreement ≥ ${ROUTER_BARS[0].toFixed(2)}`,
    figure(target),
    matched ? range(callCut) : `${range(callCut)} (not matched)`,
    figure(gateAgreement),
    `${figure(agreement.mean)} (${range(agreement)})`,
    signedInterval(gateAhead),
  ];
}
