import { type GateEnd, type LoggedSession, STOPPED_BY } from '../../src/core/gate-log.js';
import { escapeHtml, htmlPage } from '../../src/core/html-page.js';
import { LOOK, policyOf } from './page-look.js';
import { content, cutWords, scrolled } from './run-page.js';
import { plural } from './run-words.js';

export interface RunListOptions {
  title: string;
  /** Address of one run's page, by its place in the list. */
  href: (session: LoggedSession, at: number) => string | undefined;
  /** What else there is to say: how many are kept, where the rest is. */
  notes?: readonly string[] | undefined;
}

/** Rows of one reason's table. */
const ROWS_SHOWN = 500;
const COLUMNS = ['question', 'mode', 'loops', 'calls', 'skips', 'audits', 'last margin', 'bound'];

/** The runs, grouped by what stopped them; a link to a group shows it alone, without a script. */
export function runListPage(sessions: readonly LoggedSession[], { title, href, notes = [] }: RunListOptions): string {
  const numbered = sessions.map((session, at) => ({ session, link: href(session, at) }));
  const reasons: readonly (GateEnd['stopped_by'] | 'unfinished')[] = [...STOPPED_BY, 'unfinished'];
  const groups = reasons
    .map((reason) => ({ reason, runs: numbered.filter(({ session }) => (session.end?.stopped_by ?? 'unfinished') === reason) }))
    .filter(({ runs }) => runs.length > 0);
  const links = groups.map(({ reason, runs }) => `<li><a href="#${reason}">${reason} (${runs.length})</a></li>`);
  const lead = [
    `<p>${plural(sessions.length, 'question')}. ${notes.map(escapeHtml).join(' ')}</p>`,
    `<nav aria-label="By what ended them"><ul><li><a href="#all">all (${sessions.length})</a></li>${links.join('')}</ul></nav>`,
    '<div id="all"></div>',
    ...groups.map(({ reason, runs }) => `<section class="group" id="${reason}">\n<h2>${reason}</h2>\n${tableOf(reason, runs)}\n</section>`),
  ].join('\n');
  return htmlPage(title, [], { head: policyOf(null), style: LOOK, lead });
}

function tableOf(reason: string, runs: readonly { session: LoggedSession; link: string | undefined }[]): string {
  const head = COLUMNS.map((cell) => `<th role="columnheader" scope="col">${cell}</th>`).join('');
  const rows = runs.slice(0, ROWS_SHOWN).map(({ session: { open, loops, end }, link }) => {
    const name = content(open.question ?? open.question_id ?? open.session);
    const cells = [
      open.mode,
      loops.length,
      loops.filter((one) => one.asked).length,
      loops.filter((one) => !one.asked && one.because === 'gate').length,
      loops.filter((one) => one.because === 'audit').length,
      loops.at(-1)?.margin ?? 'none',
      end?.bound ?? 'none',
    ].map((cell, at) => `<td role="cell" data-name="${COLUMNS[at + 1]}"${typeof cell === 'number' ? ' class="n"' : ''}>${cell}</td>`);
    const question = link === undefined ? name : `<a href="${escapeHtml(link)}">${name}</a>`;
    return `<tr role="row"><td role="cell" class="question">${question}</td>${cells.join('')}</tr>`;
  });
  const caption = reason === 'unfinished' ? 'Questions that have not ended' : `Questions that ended by ${reason}`;
  const table = `<table class="cards" role="table"><caption>${caption}</caption><thead role="rowgroup"><tr role="row">${head}</tr></thead><tbody role="rowgroup">\n${rows.join('\n')}\n</tbody></table>`;
  return `${scrolled(caption, table)}${cutWords(runs.length, ROWS_SHOWN, 'rows')}`;
}
