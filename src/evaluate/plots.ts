import * as Plot from '@observablehq/plot';
import { parseHTML } from 'linkedom';

export interface FrontierSeries {
  name: string;
  /** Call cut against stop-loop agreement, both shares. */
  points: readonly { agreement: number; cut: number }[];
  /** The operating point of the profile's τ, drawn as a mark. */
  chosen?: { agreement: number; cut: number } | undefined;
}

/**
 * The frontier as an SVG element: for each agreement the largest call cut that keeps it. Drawn on the server side, without a script;
 * colours are Okabe and Ito's, which the colour-blind can tell apart, and each line has its name at its end, so print needs no colour.
 */
export function frontierPlot(series: readonly FrontierSeries[], bar: number): string {
  const line = series.flatMap(({ name, points }) => envelope(points).map((point) => ({ name, ...point })));
  const chosen = series.flatMap(({ name, chosen: point }) => (point ? [{ name, ...point }] : []));
  const lowest = Math.min(bar, ...line.map((point) => point.agreement));
  // What a threshold does far below the bar is of no use to anybody.
  const left = Math.max(0.5, Math.min(0.8, Math.floor(lowest * 20) / 20));
  const labels = series.flatMap(({ name, points }, at) => {
    const shown = envelope(points).filter((point) => point.agreement >= left);
    // Each name at another place along its line, so that lines which lie close do not have their names on each other.
    const wanted = left + (1 - left) * ((at + 0.5) / (series.length + 1));
    const nearest = shown.toSorted((a, b) => Math.abs(a.agreement - wanted) - Math.abs(b.agreement - wanted))[0];
    return nearest ? [{ name, ...nearest }] : [];
  });
  return svg({
    width: 720,
    height: 420,
    marginLeft: 56,
    marginBottom: 48,
    marginTop: 34,
    marginRight: 24,
    grid: true,
    ariaLabel: 'Frontier: largest call cut at each stop-loop agreement',
    style: { fontSize: '13px' },
    x: { domain: [left, 1], label: 'stop-loop agreement with always-verify →' },
    y: {
      domain: [Math.min(0, ...line.map((point) => point.cut)), 1],
      label: '↑ call cut (share of decider calls skipped)',
      tickFormat: '.0%',
    },
    color: { domain: series.map(({ name }) => name), range: PALETTE },
    marks: [
      Plot.ruleX([bar], { strokeDasharray: '6 4', stroke: '#444' }),
      Plot.text([{ x: bar }], {
        x: 'x',
        frameAnchor: 'bottom',
        dy: -8,
        dx: 6,
        textAnchor: 'start',
        text: () => `bar ${bar}`,
        fill: '#444',
      }),
      Plot.line(line, { x: 'agreement', y: 'cut', stroke: 'name', strokeWidth: 2, curve: 'step-before', clip: true }),
      Plot.dot(chosen, { x: 'agreement', y: 'cut', fill: 'name', stroke: 'black', symbol: 'star', r: 7 }),
      Plot.text(labels, {
        x: 'agreement',
        y: 'cut',
        text: 'name',
        fill: 'name',
        textAnchor: 'start',
        dx: 4,
        dy: -10,
        fontWeight: 'bold',
        stroke: 'white',
        strokeWidth: 4,
      }),
    ],
  });
}

export interface CapitalSeries {
  name: string;
  /** log10 of the betting capital after each question. */
  path: readonly number[];
}

/** The capital of the drift test, question by question, with the line at which it raises the alarm. */
export function capitalPlot(series: readonly CapitalSeries[], alpha: number): string {
  const alarm = -Math.log10(alpha);
  const points = series.flatMap(({ name, path }) => thinned(path).map(({ at, value }) => ({ name, question: at + 1, capital: value })));
  const ends = series.flatMap(({ name, path }) =>
    path.length === 0 ? [] : [{ name, question: path.length, capital: path.at(-1) as number }],
  );
  return svg({
    width: 720,
    height: 300,
    marginLeft: 56,
    marginBottom: 44,
    marginTop: 30,
    marginRight: 110,
    grid: true,
    ariaLabel: 'Capital of the drift test after each question',
    style: { fontSize: '13px' },
    x: { label: 'questions →' },
    y: {
      label: '↑ log10 of the capital',
      domain: [Math.min(-1, ...points.map((one) => one.capital)), Math.max(alarm + 0.5, ...points.map((one) => one.capital))],
    },
    color: { domain: series.map(({ name }) => name), range: PALETTE },
    marks: [
      Plot.ruleY([alarm], { strokeDasharray: '6 4', stroke: '#444' }),
      Plot.text([{ y: alarm }], {
        y: 'y',
        frameAnchor: 'left',
        dx: 6,
        dy: -8,
        textAnchor: 'start',
        text: () => `alarm (α ${alpha})`,
        fill: '#444',
      }),
      Plot.line(points, { x: 'question', y: 'capital', stroke: 'name', strokeWidth: 2 }),
      Plot.text(ends, { x: 'question', y: 'capital', text: 'name', fill: 'name', textAnchor: 'start', dx: 6, fontWeight: 'bold' }),
    ],
  });
}

export interface LoopMargins {
  loop: number;
  /** Quantiles at 10%, 25%, 50%, 75%, 90%. */
  quantiles: readonly [number, number, number, number, number];
}

/** Where the margins lie after each loop, against τ: a thin line from the 10% to the 90% quantile, a thick one over the middle half. */
export function marginsPlot(loops: readonly LoopMargins[], tau: number | null): string {
  const rows = loops.map(({ loop, quantiles: [p10, p25, p50, p75, p90] }) => ({ loop, p10, p25, p50, p75, p90 }));
  return svg({
    width: 720,
    height: 320,
    marginLeft: 56,
    marginBottom: 44,
    marginTop: 30,
    marginRight: 24,
    grid: true,
    ariaLabel: 'Margins after each loop against the threshold',
    style: { fontSize: '13px' },
    x: { type: 'band', domain: rows.map((one) => one.loop), label: 'loop →' },
    y: { label: '↑ margin (calls at or below τ, skips above)', domain: [0, Math.max(tau ?? 0, ...rows.map((one) => one.p90)) * 1.05] },
    marks: [
      Plot.ruleX(rows, { x: 'loop', y1: 'p10', y2: 'p90', stroke: '#0072B2' }),
      Plot.ruleX(rows, { x: 'loop', y1: 'p25', y2: 'p75', stroke: '#0072B2', strokeWidth: 8 }),
      Plot.dot(rows, { x: 'loop', y: 'p50', fill: 'white', stroke: '#0072B2', r: 4 }),
      ...(tau === null
        ? []
        : [
            Plot.ruleY([tau], { stroke: '#D55E00', strokeDasharray: '6 4' }),
            Plot.text([{ y: tau }], {
              y: 'y',
              frameAnchor: 'right',
              dx: -6,
              dy: -8,
              textAnchor: 'end',
              text: () => `τ ${tau}`,
              fill: '#D55E00',
            }),
          ]),
    ],
  });
}

/** At most 400 points of a path, both ends among them. */
function thinned(path: readonly number[]): { at: number; value: number }[] {
  const step = Math.max(1, Math.ceil(path.length / 400));
  return path.flatMap((value, at) => (at % step === 0 || at === path.length - 1 ? [{ at, value }] : []));
}

/** For each agreement the largest cut that keeps at least it, by rising agreement. */
export function envelope(points: readonly { agreement: number; cut: number }[]): { agreement: number; cut: number }[] {
  const out: { agreement: number; cut: number }[] = [];
  let best = -Infinity;
  for (const point of points.toSorted((a, b) => b.agreement - a.agreement || b.cut - a.cut)) {
    if (point.cut <= best) continue;
    best = point.cut;
    out.push({ agreement: point.agreement, cut: point.cut });
  }
  return out.toReversed();
}

const PALETTE = ['#0072B2', '#D55E00', '#009E73', '#CC79A7', '#E69F00', '#56B4E9', '#000000'];

function svg(options: Plot.PlotOptions): string {
  const { document } = parseHTML('<!doctype html><html><body></body></html>');
  const drawn = Plot.plot({ ...options, document: document as never });
  return drawn.outerHTML;
}
