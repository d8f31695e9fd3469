import type { LoggedSession } from '../../src/core/gate-log.js';
import { type Section, escapeHtml, htmlPage } from '../../src/core/html-page.js';
import { CHARTED_CLAIMS, marginsChart } from './margins-chart.js';
import { LOOK, STEPPING, policyOf } from './page-look.js';
import { type RunView, type RunViewOptions, type StepView, runView } from './run-view.js';
import { plural } from './run-words.js';

export interface RunPageOptions extends RunViewOptions {
  /** Address of the page that lists runs. */
  list?: string | undefined;
}

/** Beyond these a page would be too long to read; the log has everything. */
const [LOOPS_SHOWN, SENTENCES_SHOWN, CHARACTERS_SHOWN] = [200, 100, 2000];

/**
 * One question's run, loop by loop, as one self-contained page: query, new sentences, margins against τ, skip or call and why, verdicts, what
 * always-verify would have done, and the stop. It needs no script, and loads nothing.
 */
export function runPage(session: LoggedSession, { list, ...options }: RunPageOptions): string {
  const view = runView(session, options);
  const steps = view.steps.slice(0, LOOPS_SHOWN);
  const title = clipped(view.name);
  const sections: Section[] = [
    { heading: 'In short', body: [view.stop, view.gate, view.always].map((words) => `<p>${escapeHtml(words)}</p>`).join('\n') },
    ...(steps.length === 0
      ? []
      : [
          { heading: 'Margins over the loops', body: overview(session, view, steps, options) },
          { heading: 'Step by step', body: `${stepsNav(steps)}\n${STEPPER}\n${steps.map((one) => stepOf(one, session, view, options)).join('\n')}${cutWords(view.steps.length, LOOPS_SHOWN, 'loops')}` }, // prettier-ignore
        ]),
    { heading: 'The run', body: factsOf(session, view, options) },
  ];
  const back = list === undefined ? '' : `<nav aria-label="Pages"><a href="${escapeHtml(list)}">All questions</a></nav>`;
  const script = steps.length === 0 ? null : STEPPING;
  const foot = script === null ? '' : `<script>${script}</script>\n`;
  return htmlPage(title, sections, { head: policyOf(script), style: LOOK, lead: back, foot });
}

const STEPPER = `<div class="stepper" role="group" aria-label="Steps" hidden><button type="button">← Previous</button><button type="button">Next →</button><button type="button" aria-pressed="false">One at a time</button><output aria-live="polite"></output></div>`;

function overview({ open }: LoggedSession, { tau, otherTau }: RunView, steps: readonly StepView[], { settings }: RunPageOptions): string {
  if (steps.every(({ line }) => line.per_claim.length === 0))
    return '<p>No loop has a margin: there were no claims, or the encoder failed.</p>';
  const shown = Math.min(CHARTED_CLAIMS, open.claims);
  const things = thingOf(settings.drafter_sha256);
  const caption = [
    `Margin of each ${things} after each loop${open.claims > shown ? ` (the first ${shown} of ${open.claims})` : ''}; the broad band is the gate's margin, their ${settings.policy === 'any_match' ? 'smallest' : 'largest'}.`,
    tau === null ? 'There is no threshold.' : `Above the dashed line of τ ${tau} the gate skips, at or below it it calls.`,
    'Below: circle, called; star, called and covered; triangle, skipped; cross, not called.',
  ].join(' ');
  const other = otherTau ? `<p>The gate itself ran with ${settings.tau === null ? 'no threshold' : `τ ${settings.tau}`}.</p>` : '';
  return `${marginsChart(steps, tau, caption)}${other}`;
}

function stepsNav(steps: readonly StepView[]): string {
  const items = steps.map((step) => `<li><a href="#loop-${step.line.loop}">${step.line.loop} ${headlineOf(step)}</a></li>`);
  return `<nav aria-label="Loops"><ol>${items.join('')}</ol></nav>`;
}

function headlineOf({ action, verdict }: StepView): string {
  return action === 'called' && verdict === true ? 'called, covered' : action;
}

function stepOf(step: StepView, session: LoggedSession, view: RunView, { settings }: RunPageOptions): string {
  const { line } = step;
  const id = `loop-${line.loop}`;
  const kind =
    step.action === 'called' ? (step.verdict === true ? 'called fire' : 'called') : step.action === 'skipped' ? 'skipped' : 'idle';
  const query =
    line.query === null ? quiet('The query was not logged.') : line.query === '' ? quiet('No query was handed over.') : content(line.query);
  return `<section class="loop ${kind}" id="${id}" aria-labelledby="${id}-name">
<h3 id="${id}-name" tabindex="-1">Loop ${line.loop}: ${headlineOf(step)}</h3>
<p>${escapeHtml(step.why)}</p>
<h4>Follow-up query</h4>
<p>${query}</p>
<h4>New sentences: ${line.new_sentences}</h4>
${sentencesOf(step)}
<h4>Margins and verdicts</h4>
${claimsTable(step, session, view, settings.drafter_sha256)}
<p><strong>Verdict:</strong> ${escapeHtml(step.verdictWords)}.</p>
<p><strong>Always-verify</strong> ${escapeHtml(step.always)}</p>
${line.error === null ? '' : `<p><strong>Error:</strong> ${content(line.error)}</p>\n`}${line.stopped_by === null ? '' : `<p><strong>The run stopped here:</strong> ${line.stopped_by}.</p>\n`}${quietParagraph(timesOf(step))}
</section>`;
}

function sentencesOf({ line: { new_sentences: count, sentences } }: StepView): string {
  if (count === 0) return quietParagraph('This search brought nothing new.');
  if (sentences === null) return quietParagraph('Their text was not logged.');
  const items = sentences
    .slice(0, SENTENCES_SHOWN)
    .map(({ title, text }) => `<li>${title === '' ? '' : `<span class="title">${content(title)}:</span> `}${content(text)}</li>`);
  return `<ol class="sentences">${items.join('')}</ol>${cutWords(sentences.length, SENTENCES_SHOWN, 'sentences')}`;
}

function claimsTable({ line }: StepView, { open }: LoggedSession, { tau }: RunView, drafter: string | null): string {
  const thing = thingOf(drafter);
  // A drafter's slots are no claims: the decider's words on claims belong to none of them.
  const together = drafter === null && line.matched?.length === line.per_claim.length;
  const margins = line.per_claim.map((margin, at) => {
    const against = tau === null ? 'no τ' : margin > tau ? 'above' : 'at or below';
    const name = claimName(at, thing, open.claim_texts?.[at]);
    const verdict = together ? `<td>${matchWords(line.matched?.[at])}</td>` : '';
    return `<tr><th scope="row" class="text">${name}</th><td class="n">${margin}</td><td>${against}</td>${verdict}</tr>`;
  });
  const table =
    margins.length === 0
      ? quietParagraph('There is no margin.')
      : scrolled(
          `Margins after loop ${line.loop}`,
          `<table><caption>The gate's margin: ${line.margin ?? 'none'}${tau === null ? '' : `, against τ ${tau}`}</caption><thead><tr><th scope="col">${thing}</th><th scope="col">margin</th><th scope="col">to τ</th>${together ? '<th scope="col">verdict</th>' : ''}</tr></thead><tbody>\n${margins.join('\n')}\n</tbody></table>`,
        );
  if (together || line.matched === null || line.matched.length === 0) return table;
  const rows = line.matched.map((matched, at) => `<tr><th scope="row">claim ${at + 1}</th><td>${matchWords(matched)}</td></tr>`);
  return `${table}\n${scrolled(`Verdicts at loop ${line.loop}`, `<table><caption>The decider's verdicts, on claims of its own</caption><thead><tr><th scope="col">claim</th><th scope="col">verdict</th></tr></thead><tbody>${rows.join('\n')}</tbody></table>`)}`;
}

function claimName(at: number, thing: string, text: string | undefined): string {
  return text === undefined ? `${thing} ${at + 1}` : `${at + 1}. ${content(text)}`;
}

function matchWords(matched: boolean | undefined): string {
  return matched ? 'matched' : 'not matched';
}

function thingOf(drafter: string | null): string {
  return drafter === null ? 'claim' : 'slot';
}

function timesOf({ line }: StepView): string {
  const decider = line.decider_ms === null ? 'no decider call' : `decider ${ms(line.decider_ms)}`;
  const more = [
    ...(line.pairs === null ? [] : [`${plural(line.pairs, 'pair')} scored`]),
    ...(line.decider_tokens === 0 ? [] : [`${plural(line.decider_tokens, 'token')} of the decider`]),
  ];
  return `${[`Agent and search ${ms(line.host_ms)}`, `gate ${ms(line.gate_ms)}`, decider, ...more].join(', ')}.`;
}

function factsOf({ open, claims, loops, end }: LoggedSession, { tau, otherTau }: RunView, { settings }: RunPageOptions): string {
  const bounds = Object.entries(open.bounds)
    .filter(([, value]) => value !== null)
    .map(([bound, value]) => `${bound} ${value}`);
  const rows = [
    ['session', clipped(open.session)],
    ['question id', clipped(open.question_id ?? 'none')],
    ['mode', open.run_on ? `${open.mode}, and the agent goes on after a fire` : open.mode],
    ['τ', otherTau ? `${tau ?? 'none'} (the gate ran with ${settings.tau ?? 'none'})` : String(tau ?? 'none')],
    ['decider', clipped(settings.decider.name)],
    ['encoder', clipped(settings.encoder.name)],
    ['margin of', settings.drafter_sha256 === null ? `${plural(open.claims, 'claim')}, ${settings.claim_source}` : plural(open.claims, 'drafted slot')],
    ...(claims === null ? [] : [['claims made', `${claims.k} at ${claims.loop === 0 ? 'the start' : `loop ${claims.loop}`}, in ${ms(claims.ms)}`]]),
    ['bounds', bounds.join(', ') || 'none'],
    ['loops', String(loops.length)],
    ...(end === null ? [] : [['calls', String(end.calls)], ['skips', String(end.skips)], ['audits', String(end.audits)], ['errors', String(end.errors)], ['tokens', String(end.tokens)], ['time', ms(end.ms)]]),
    ['content', settings.content ? 'logged' : 'not logged: questions, queries and sentences stay with the agent'],
  ] as const; // prettier-ignore
  const cells = rows.map(([name, value]) => `<tr><th scope="row">${name}</th><td class="text">${escapeHtml(value)}</td></tr>`);
  return scrolled(
    'Facts of the run',
    `<table><caption>What the log says of this run and its gate</caption><tbody>\n${cells.join('\n')}\n</tbody></table>`,
  );
}

/** A wide table scrolls by itself, by keyboard too. */
export function scrolled(name: string, table: string): string {
  return `<div class="wide" role="region" tabindex="0" aria-label="${escapeHtml(name)}">${table}</div>`;
}

/** Text of others: shown as it is, its direction kept to itself. */
export function content(text: string): string {
  return `<bdi>${escapeHtml(clipped(text))}</bdi>`;
}

export function clipped(text: string): string {
  return text.length > CHARACTERS_SHOWN ? `${text.slice(0, CHARACTERS_SHOWN)} … (${text.length} characters)` : text;
}

export function cutWords(count: number, shown: number, what: string): string {
  return count > shown ? quietParagraph(`The first ${shown} of ${count} ${what}; the log has all.`) : '';
}

function quiet(words: string): string {
  return `<span class="quiet">${escapeHtml(words)}</span>`;
}

function quietParagraph(words: string): string {
  return `<p class="quiet">${escapeHtml(words)}</p>`;
}

function ms(milliseconds: number): string {
  return milliseconds >= 1000 ? `${(milliseconds / 1000).toFixed(1)} s` : `${milliseconds.toFixed(milliseconds < 10 ? 1 : 0)} ms`;
}
