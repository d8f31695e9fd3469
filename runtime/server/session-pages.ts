import { htmlPage } from '../../src/core/html-page.js';
import { LOOK, policyOf } from '../pages/page-look.js';
import { runListPage } from '../pages/run-list.js';
import { runPage } from '../pages/run-page.js';
import type { HttpOptions } from './http-server.js';
import type { RecentSessions } from './recent-sessions.js';

/** `GET /ui`, the last questions, and `GET /ui/sessions/ID`, one of them step by step. Links are relative, for proxies that serve them below a path. */
export function sessionPages(recent: RecentSessions): NonNullable<HttpOptions['pages']> {
  return {
    '/ui': () => ({
      html: runListPage(recent.list(), {
        title: 'hopgate: the last questions',
        href: ({ open }) => `ui/sessions/${encodeURIComponent(open.session)}`,
        notes: [
          'The latest first; older ones have left these pages, and stay in the log where there is one. Load the page again for newer ones.',
        ],
      }),
    }),
    '/ui/sessions/:session': (id) => {
      const session = recent.get(id);
      const header = session && recent.header(session.open.gate);
      return header ? { html: runPage(session, { settings: header.settings, list: '../../ui' }) } : { html: unknownPage(), status: 404 };
    },
  };
}

function unknownPage(): string {
  const lead = '<p>This question is not among the last ones that the service keeps. <a href="../../ui">All questions</a></p>';
  return htmlPage('No such question here', [], { head: policyOf(null), style: LOOK, lead });
}
