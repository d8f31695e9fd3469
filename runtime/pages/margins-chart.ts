import { escapeHtml } from '../../src/core/html-page.js';
import type { StepView } from './run-view.js';

/** Claims that have a line of their own. */
export const CHARTED_CLAIMS = 8;

const [WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM] = [440, 280, 40, 28, 22, 58];
const LABEL = 13;
const DASHES = ['', '7 3', '2 3', '8 3 2 3'];

/**
 * Margins of each claim after each loop, the line of τ, and what was done below: circles for calls (a star where the decider said covered),
 * triangles for skips, crosses where it was not called. Lines are told apart by dashes, marks and numbers, not by colour alone.
 */
export function marginsChart(steps: readonly StepView[], tau: number | null, caption: string): string {
  const margins = steps.flatMap(({ line }) => [...line.per_claim, ...(line.margin === null ? [] : [line.margin])]);
  const top = Math.max(0.1, tau ?? 0, ...margins) * 1.08;
  const x = (at: number): number =>
    steps.length === 1 ? (LEFT + WIDTH - RIGHT) / 2 : LEFT + 12 + (at * (WIDTH - RIGHT - LEFT - 24)) / (steps.length - 1);
  const y = (margin: number): number => HEIGHT - BOTTOM - (Math.max(0, margin) / top) * (HEIGHT - BOTTOM - TOP);
  const claims = Math.min(CHARTED_CLAIMS, Math.max(0, ...steps.map(({ line }) => line.per_claim.length)));
  const lines = Array.from({ length: claims }, (_, claim) => claimLine(steps, claim, x, y)).join('');
  const threshold = thresholdOf(tau, y);
  return `<figure><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="margins-caption">
${gridOf(top, y)}${threshold.line}
<path class="state" d="${pathOf(steps.map(({ line }, at) => (line.margin === null ? null : [x(at), y(line.margin)])))}"/>
${lines}${threshold.name}${endLabels(steps, claims, x, y)}
${marksOf(steps, x)}
</svg>
<figcaption id="margins-caption">${escapeHtml(caption)}</figcaption></figure>`;
}

type Scale = (value: number) => number;

function gridOf(top: number, y: Scale): string {
  const step = top > 1 ? 0.5 : top > 0.5 ? 0.2 : 0.1;
  const ticks = Array.from({ length: Math.floor(top / step + 1e-9) + 1 }, (_, at) => Math.round(at * step * 10) / 10);
  return ticks
    .map(
      (tick) =>
        `<line class="grid" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${px(y(tick))}" y2="${px(y(tick))}"/><text class="tick" x="${LEFT - 6}" y="${px(y(tick) + 4)}" text-anchor="end">${tick}</text>`,
    )
    .join('');
}

function thresholdOf(tau: number | null, y: Scale): { line: string; name: string } {
  if (tau === null) return { line: '', name: '' };
  const at = y(tau);
  return {
    line: `<line class="tau" x1="${LEFT}" x2="${WIDTH - RIGHT}" y1="${px(at)}" y2="${px(at)}"/>`,
    name: `<text class="tau-name" x="${LEFT + 4}" y="${px(at - 5)}">τ ${tau}: above skips</text>`,
  };
}

function claimLine(steps: readonly StepView[], claim: number, x: Scale, y: Scale): string {
  const points = steps.map(({ line }, at): [number, number] | null => {
    const margin = line.per_claim[claim];
    return margin === undefined ? null : [x(at), y(margin)];
  });
  const dash = DASHES[Math.floor(claim / 2) % DASHES.length] as string;
  const dots = points.flatMap((point) => (point ? [claimMark(claim, point)] : [])).join('');
  return `<g class="claim c${claim % 4}"><path${dash === '' ? '' : ` stroke-dasharray="${dash}"`} d="${pathOf(points)}"/>${dots}</g>\n`;
}

function claimMark(claim: number, [x, y]: [number, number]): string {
  const [a, b] = [px(x), px(y)];
  switch (claim % 4) {
    case 0:
      return `<circle cx="${a}" cy="${b}" r="3.5"/>`;
    case 1:
      return `<rect x="${px(x - 3.5)}" y="${px(y - 3.5)}" width="7" height="7"/>`;
    case 2:
      return `<path d="M${a} ${px(y - 4.5)}l4.5 8h-9z"/>`;
    default:
      return `<path d="M${a} ${px(y - 5)}l5 5l-5 5l-5 -5z"/>`;
  }
}

/** Each claim's number at the end of its line, moved apart where lines end close together. */
function endLabels(steps: readonly StepView[], claims: number, x: Scale, y: Scale): string {
  const ends = Array.from({ length: claims }, (_, claim) => {
    const at = steps.findLastIndex(({ line }) => line.per_claim[claim] !== undefined);
    return at < 0 ? null : { claim, x: x(at), y: y(steps[at]?.line.per_claim[claim] as number) };
  })
    .flatMap((end) => end ?? [])
    .toSorted((a, b) => a.y - b.y);
  // Downwards first; what that pushes below the axis is pushed up again.
  const places = ends.map((end) => end.y);
  for (let at = 1; at < places.length; at++) places[at] = Math.max(places[at] as number, (places[at - 1] as number) + LABEL);
  for (let at = places.length - 1; at >= 0; at--)
    places[at] = Math.min(places[at] as number, (places[at + 1] ?? HEIGHT - BOTTOM + LABEL) - LABEL);
  return ends
    .map(
      (end, at) =>
        `<text class="name c${end.claim % 4}" x="${px(end.x + 9)}" y="${px((places[at] as number) + 4)}">${end.claim + 1}</text>`,
    )
    .join('');
}

function marksOf(steps: readonly StepView[], x: Scale): string {
  const every = Math.max(1, Math.ceil((steps.length * 34) / (WIDTH - LEFT - RIGHT)));
  const row = HEIGHT - BOTTOM + 30;
  const marks = steps.map((step, at) => {
    const shown = at % every === 0;
    const words = { called: 'call', skipped: 'skip', 'not called': 'none' }[step.action];
    const label = shown
      ? `<text x="${px(x(at))}" y="${HEIGHT - BOTTOM + 16}" text-anchor="middle">${step.line.loop}</text><text class="does" x="${px(x(at))}" y="${row + 22}" text-anchor="middle">${words}</text>`
      : '';
    return `${actionMark(step, x(at), row)}${label}`;
  });
  return `<text class="tick" x="${LEFT - 6}" y="${HEIGHT - BOTTOM + 16}" text-anchor="end">loop</text>${marks.join('')}`;
}

function actionMark({ action, verdict }: StepView, x: number, y: number): string {
  if (action === 'called' && verdict === true)
    return `<path class="mark fire" d="M${px(x)} ${px(y - 8)}l2.2 5 5.4 .5 -4.1 3.6 1.2 5.3 -4.7 -2.8 -4.7 2.8 1.2 -5.3 -4.1 -3.6 5.4 -.5z"/>`;
  if (action === 'called') return `<circle class="mark call" cx="${px(x)}" cy="${y}" r="5"/>`;
  if (action === 'skipped') return `<path class="mark skip" d="M${px(x - 4.5)} ${px(y - 5.5)}l9.5 5.5l-9.5 5.5z"/>`;
  return `<path class="mark none" d="M${px(x - 4)} ${y - 4}l8 8m0 -8l-8 8"/>`;
}

/** A gap in the points is a gap in the line. */
function pathOf(points: readonly (readonly [number, number] | null | undefined)[]): string {
  let on = false;
  return points
    .map((point) => {
      const command = point ? `${on ? 'L' : 'M'}${px(point[0])} ${px(point[1])}` : '';
      on = Boolean(point);
      return command;
    })
    .join('');
}

function px(value: number): string {
  return String(Math.round(value * 10) / 10);
}
