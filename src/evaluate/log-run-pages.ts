import { runListPage, runPage } from '../../runtime/index.js';
import type { GateLine, LoggedSession } from '../core/gate-log.js';
import { type Section, htmlParagraphs } from '../core/html-page.js';
import type { GateTraffic } from './log-traffic.js';

export interface LogRunPages {
  /** Files beside the report: one page a question, and the list of them. */
  pages: { name: string; html: string }[];
  /** Address of one question's page, from the report. */
  href: (session: LoggedSession) => string | undefined;
  /** Of the report: leads to them. */
  sections: Section[];
}

/** Questions with a page of their own, the first ones of the logs: as many as the report lists. */
const PAGES = 200;

/** @param tau holds for all pages; default: each gate's own */
export function logRunPages(traffic: readonly GateTraffic[], { tau }: { tau?: number | undefined } = {}): LogRunPages {
  const all = traffic.flatMap(({ log }) =>
    log.sessions.map((session) => ({ session, gate: log.gates.get(session.open.gate) as GateLine })),
  );
  if (all.length === 0) return { pages: [], href: () => undefined, sections: [] };
  const shown = all.slice(0, PAGES);
  const names = new Map(shown.map(({ session }, at) => [session, `${at + 1}.html`]));
  const extent = all.length > PAGES ? `The first ${PAGES} of the ${all.length} that the logs hold.` : 'All that the logs hold.';
  const list = runListPage(
    shown.map(({ session }) => session),
    {
      title: 'Questions step by step',
      href: (session) => names.get(session),
      notes: [extent],
    },
  );
  return {
    pages: [
      { name: 'questions/index.html', html: list },
      ...shown.map(({ session, gate }) => ({
        name: `questions/${names.get(session)}`,
        html: runPage(session, { settings: gate.settings, tau, list: 'index.html' }),
      })),
    ],
    href: (session) => (names.has(session) ? `questions/${names.get(session)}` : undefined),
    sections: [
      {
        heading: 'Step by step',
        body: `<p><a href="questions/index.html">Questions step by step</a>, each on a page of its own in the folder beside this one.</p>\n${htmlParagraphs([extent])}`,
      },
    ],
  };
}
