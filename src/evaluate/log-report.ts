import { type LoggedSession, STOPPED_BY } from '../core/gate-log.js';
import { type Section, escapeHtml, htmlPage, htmlParagraphs, htmlTable } from '../core/html-page.js';
import { auditRange, auditWords } from './log-audits.js';
import { driftWords } from './log-drift.js';
import type { LogFigures } from './log-figures.js';
import type { capitalPlot } from './plots.js';
import { shadowWords } from './log-shadow.js';
import { type Duration, logBreakEvenWords } from './log-times.js';
import type { GateTraffic } from './log-traffic.js';
import { figure, withInterval } from './text-table.js';

export interface LogReportOptions {
  title: string;
  /** Words on a profile that was given: what differs from the logs' gate, or that it keeps no first margins. */
  notes?: readonly string[] | undefined;
  /** Address, or anchor on this page, of one question's page, where there is one. */
  sessionHref?: ((session: LoggedSession) => string | undefined) | undefined;
  /** Sections behind these: single questions step by step. */
  more?: readonly Section[] | undefined;
}

/** Sessions that the page lists; the JSON has the sums of all. */
const LISTED = 200;

/** The page of gate logs, one self-contained file. */
export async function logReportHtml(traffic: readonly GateTraffic[], figures: LogFigures, options: LogReportOptions): Promise<string> {
  // The plotting libraries take longer to load than most commands run.
  const plots = await import('./plots.js');
  const sections: Section[] = [
    { heading: 'The verdict', body: htmlParagraphs([...verdictWords(figures), ...(options.notes ?? [])]) },
    { heading: 'How questions ended', body: stopsTable(figures) },
    { heading: 'What the gate would have done', body: shadowTable(figures) },
    { heading: 'Audited skips', body: auditTable(figures) },
    { heading: 'Drift', body: driftBody(figures, plots.capitalPlot) },
    {
      heading: 'Margins after each loop',
      body:
        figures.margins.length === 0
          ? htmlParagraphs(['No loop has a margin.'])
          : `${plots.marginsPlot(figures.margins, figures.tau)}\n${htmlParagraphs(['Thick: the middle half of the questions; thin: from the 10% to the 90% quantile; dot: the median.'])}`,
    },
    { heading: 'Times', body: timesTable(figures) },
    { heading: 'Errors', body: errorsTable(figures) },
    { heading: 'Questions', body: sessionsTable(traffic, figures, options) },
    ...(options.more ?? []),
    { heading: 'Where the numbers come from', body: sourcesTable(traffic) },
  ];
  return htmlPage(options.title, sections);
}

/** The whole report in sentences; also what the command prints. */
export function verdictWords(figures: LogFigures): string[] {
  const { tau, shadow, audits, drift, liveAlarms, breakEven } = figures;
  return [
    ...(tau === null
      ? ['The gate had no threshold, so nothing can be said of skips: calibrate on this log first (hopgate calibrate --from-log).']
      : []),
    ...shadow.map(shadowWords),
    ...(tau !== null && shadow.length === 0 ? ['No question ran in shadow to its end, so agreement and call cut are unknown.'] : []),
    ...audits.map(auditWords),
    ...(drift ?? []).map(driftWords),
    ...liveAlarms.map(
      ({ name, questions, fallsBack }) =>
        `${name}: the running gate raised its drift alarm after ${questions} questions${fallsBack ? ' and has called at every loop since' : ''}.`,
    ),
    ...breakEven.map(logBreakEvenWords),
  ];
}

/** Why drift is not there. */
export const NO_DRIFT =
  'Not available: the test compares the margins after the first loop with those that τ was chosen on, which stand in a profile (--profile); profiles that were written before it keep only quantiles, and calibrating again adds them.';

function stopsTable({ stops }: LogFigures): string {
  const header = [
    'log',
    'questions',
    'in shadow',
    ...STOPPED_BY,
    'unfinished',
    'loops',
    'calls',
    'skips',
    'bounds',
    'lines cut off',
    'with lost lines',
  ];
  const rows = stops.map(({ name, sessions, inShadow, stoppedBy, unfinished, loops, calls, skips, bounds, torn, gaps }) => [
    name,
    ...[sessions, inShadow, ...STOPPED_BY.map((reason) => stoppedBy[reason]), unfinished, loops, calls, skips].map(String),
    Object.entries(bounds).map(([bound, count]) => `${bound} ${count}`).join(', ') || 'none', // prettier-ignore
    String(torn),
    String(gaps),
  ]);
  return htmlTable(header, rows);
}

function shadowTable({ shadow, leftOut }: LogFigures): string {
  const header = ['log', 'τ', 'questions', 'agreement', 'call cut, one call at each unseen loop', 'call cut, no further call', 'skipped', 'stop later', 'added loops', 'loops unseen in']; // prettier-ignore
  const rows = shadow.map((one) => [
    one.name,
    String(one.tau),
    String(one.questions.valid),
    withInterval(one.agreement),
    withInterval(one.callCut.pessimistic),
    withInterval(one.callCut.optimistic),
    String(one.skipped),
    String(one.deferred),
    one.unseen === 0
      ? figure(one.addedLoops.pessimistic.value)
      : `${figure(one.addedLoops.optimistic.value)} to ${figure(one.addedLoops.pessimistic.value)}`,
    String(one.unseen),
  ]);
  const words = leftOut
    .filter(({ reasons }) => Object.keys(reasons).length > 0)
    .map(
      ({ name, reasons }) =>
        `${name}: left out here ${Object.entries(reasons)
          .map(([reason, count]) => `${count} ${reason}`)
          .join(', ')}.`,
    );
  return [...(rows.length === 0 ? [] : [htmlTable(header, rows)]), htmlParagraphs(rows.length === 0 ? ['No figures.', ...words] : words)].join('\n'); // prettier-ignore
}

function auditTable({ audits }: LogFigures): string {
  if (audits.length === 0) return htmlParagraphs(['No question was enforced.']);
  const header = ['log', 'share', 'enforced questions', 'skips', 'audited', 'fired', 'would have fired', 'saved calls', 'no verdict'];
  const rows = audits.map(({ name, share, questions, skips, audited, fired, unanswered, estimate }) => [
    name,
    ...[share, questions, skips, audited, fired].map(String),
    ...(['wouldFire', 'saved'] as const).map((of) => (estimate === null ? 'unknown' : auditRange(estimate, of).join(', 95%: '))),
    String(unanswered),
  ]);
  return [
    htmlTable(header, rows),
    htmlParagraphs([
      'Each skip is audited by chance, whatever the data. Fired audits over the share are an unbiased estimate of all skips at which the decider would have fired. The 95% interval is exact where no audit ends a run; an audit that fires does, and that its coverage holds there too was checked by simulation only. Audits without a verdict leave a range, from none of them having fired to all. Saved calls are counted against asking at every loop that was run: skips that nobody asked at and where asking would have changed nothing.',
    ]),
  ].join('\n');
}

function driftBody({ drift }: LogFigures, draw: typeof capitalPlot): string {
  if (drift === null || drift.length === 0) return htmlParagraphs([NO_DRIFT]);
  const header = ['log', 'against', 'α', 'questions', 'alarm at question', 'capital at the end'];
  const rows = drift.map(({ name, dataset, alpha, questions, alarmAt, path }) => [
    name,
    dataset ?? 'all that τ was chosen on',
    String(alpha),
    String(questions),
    alarmAt === null ? 'none' : String(alarmAt),
    `10^${(path.at(-1) ?? 0).toFixed(1)}`,
  ]);
  const together = drift.filter((one) => one.dataset === null);
  const shown = together.length > 0 ? together : drift;
  return [
    draw(shown.map(({ name, path }) => ({ name, path })), shown[0]?.alpha ?? 0.01), // prettier-ignore
    htmlTable(header, rows),
    htmlParagraphs([
      'A capital of 1 bets on margins that are unlike those of the calibration. Without drift it ever reaches 1 / α with probability at most α, however long the log.',
    ]),
  ].join('\n');
}

function timesTable({ times, breakEven }: LogFigures): string {
  const row = (name: string, one: Duration | null): string[] =>
    one === null
      ? [name, '0', ...Array.from({ length: 5 }, () => '–')]
      : [name, String(one.count), ...[one.mean, one.p50, one.p90, one.p99, one.most].map((ms) => ms.toFixed(1))];
  const table = htmlTable(
    ['milliseconds', 'n', 'mean', '50%', '90%', '99%', 'most'],
    [
      row('a decider call', times.decider),
      row("the gate's own work in a loop", times.gate),
      row("the host's before a loop: its follow-up and its search", times.host),
      row("making a question's claims", times.claims),
    ],
  );
  return breakEven.length > 0
    ? table
    : `${table}\n${htmlParagraphs(['No break-even figure: it takes questions in shadow with timed calls.'])}`;
}

function errorsTable({ errors }: LogFigures): string {
  if (errors.length === 0) return htmlParagraphs(['None.']);
  return htmlTable(['error', 'loops'], errors.map(({ message, count }) => [message, String(count)])); // prettier-ignore
}

function sessionsTable(traffic: readonly GateTraffic[], { runs }: LogFigures, { sessionHref }: LogReportOptions): string {
  const unseen = new Map(runs.flatMap((run) => run.questions.map(({ session, unseen: loops }) => [session.open.session, loops] as const)));
  const sessions = traffic.flatMap(({ log }) => log.sessions);
  const head = ['question', 'mode', 'ended by', 'loops', 'calls', 'skips', 'audits', 'last margin', 'loops unseen']
    .map((cell) => `<th scope="col">${cell}</th>`)
    .join('');
  const body = sessions.slice(0, LISTED).map((session) => {
    const { open, loops, end } = session;
    const href = sessionHref?.(session);
    const name = escapeHtml(open.question ?? open.question_id ?? open.session);
    const margin = loops.at(-1)?.margin ?? null;
    const cells = [
      open.mode,
      end?.stopped_by ?? 'unfinished',
      String(loops.length),
      String(loops.filter((one) => one.asked).length),
      String(loops.filter((one) => one.decision === 'skip' && !one.asked).length),
      String(loops.filter((one) => one.because === 'audit').length),
      figure(margin),
      unseen.has(open.session) ? String(unseen.get(open.session)) : '–',
    ].map((cell) => `<td>${escapeHtml(cell)}</td>`);
    return `<tr id="session-${escapeHtml(open.session)}"><td>${href === undefined ? name : `<a href="${escapeHtml(href)}">${name}</a>`}</td>${cells.join('')}</tr>`;
  });
  const words = sessions.length > LISTED ? [`The first ${LISTED} of ${sessions.length}.`] : [];
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>\n${body.join('\n')}\n</tbody></table></div>\n${htmlParagraphs(words)}`;
}

function sourcesTable(traffic: readonly GateTraffic[]): string {
  const rows = traffic.flatMap(({ name, sha256, log }) =>
    [...log.gates.values()].map(({ gate, product, settings }) => [
      name,
      sha256.slice(0, 12),
      gate.slice(0, 12),
      product,
      settings.mode,
      String(settings.tau ?? 'none'),
      settings.encoder.name,
      settings.drafter_sha256 === null ? `${settings.claim_source} as ${settings.claim_text}` : 'drafted slots',
      settings.decider.name,
      settings.transferred.join('; ') || 'none',
    ]),
  );
  return htmlTable(['log', 'sha256', 'gate', 'version', 'mode', 'τ', 'encoder', 'margin of', 'decider', 'transferred'], rows);
}
