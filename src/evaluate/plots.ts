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
