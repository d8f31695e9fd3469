import { createHash } from 'node:crypto';

/** What pages of runs add to the common look: light or dark as the reader has it, and always light in print. */
export const LOOK = `
:root { color-scheme: light dark; --ink: #1a1a1a; --quiet: #5a5a5a; --paper: #fff; --panel: #f6f6f6; --rule: #d4d4d4; --link: #0a4d8c; --tau: #a33c00; --c0: #00558f; --c1: #a33c00; --c2: #00684c; --c3: #8a3d6f; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e6e6; --quiet: #ababab; --paper: #16181b; --panel: #1f2226; --rule: #3b4046; --link: #8fc4f5; --tau: #f0955c; --c0: #6db7ec; --c1: #f0955c; --c2: #4fc7a1; --c3: #e2a3c7; } }
body { color: var(--ink); background: var(--paper); overflow-wrap: anywhere; }
h1 { line-height: 1.3; } h2 { border-color: var(--rule); } h3 { font-size: 1.05rem; margin: 0 0 0.5rem; } h4 { font-size: 0.95rem; margin: 1rem 0 0.25rem; }
a { color: var(--link); } :focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
p, ol, dl { max-width: 46rem; } p { margin: 0.5rem 0; } .quiet, caption, figcaption { color: var(--quiet); font-size: 0.9rem; }
caption { text-align: left; padding-bottom: 0.25rem; } th, td { border-color: var(--rule); vertical-align: top; } td.text, th.text { white-space: normal; min-width: 9rem; font-weight: normal; }
tbody th { border-bottom: 1px solid var(--rule); } td.question { white-space: normal; min-width: 12rem; } th, td { overflow-wrap: break-word; } .text, bdi { overflow-wrap: anywhere; }
.loop { border: 1px solid var(--rule); border-left-width: 5px; border-radius: 4px; padding: 0.9rem 1rem; margin: 1rem 0; scroll-margin-top: 4rem; }
.loop.called { border-left-color: var(--c0); } .loop.skipped { border-left-style: dashed; border-left-color: var(--tau); } .loop.fire { border-left-style: double; border-left-color: var(--c2); }
.loop[aria-current] { background: var(--panel); } .sentences { padding-left: 1.5rem; margin: 0.25rem 0; } .sentences li { margin: 0.2rem 0; } .title { color: var(--quiet); }
nav ol, nav ul { display: flex; flex-wrap: wrap; gap: 0.25rem 1rem; list-style: none; padding: 0; max-width: none; }
.stepper { position: sticky; top: 0; display: flex; flex-wrap: wrap; gap: 0.5rem; align-items: center; background: var(--paper); padding: 0.5rem 0; border-bottom: 1px solid var(--rule); z-index: 1; }
.stepper[hidden] { display: none; } button { font: inherit; font-size: 0.9rem; color: inherit; background: var(--panel); border: 1px solid var(--rule); border-radius: 4px; padding: 0.25rem 0.7rem; min-height: 2.2rem; cursor: pointer; } button:disabled { color: var(--quiet); cursor: default; opacity: 0.6; } button[aria-pressed=true] { border-color: var(--link); box-shadow: inset 0 -2px var(--link); }
figure { margin: 1rem 0; } figure svg { display: block; width: 100%; max-width: 40rem; }
svg text { fill: var(--ink); font: 12px system-ui, sans-serif; } svg .tick, svg .does { fill: var(--quiet); font-size: 11px; }
svg .grid { stroke: var(--rule); stroke-width: 1; } svg .tau { stroke: var(--tau); stroke-width: 1.5; stroke-dasharray: 6 4; } svg .tau-name, svg .name { paint-order: stroke; stroke: var(--paper); stroke-width: 4; stroke-linejoin: round; } svg text.tau-name { fill: var(--tau); }
svg .state { fill: none; stroke: var(--quiet); stroke-opacity: 0.3; stroke-width: 9; stroke-linejoin: round; stroke-linecap: round; } svg .claim > path:first-child { fill: none; stroke-width: 2; } svg .name { font-weight: bold; }
svg .c0 { stroke: var(--c0); fill: var(--c0); } svg .c1 { stroke: var(--c1); fill: var(--c1); } svg .c2 { stroke: var(--c2); fill: var(--c2); } svg .c3 { stroke: var(--c3); fill: var(--c3); } svg text.name { stroke: var(--paper); }
svg .mark { stroke: var(--ink); stroke-width: 1.5; fill: none; } svg .mark.call, svg .mark.fire { fill: var(--ink); }
.single .loop:not([aria-current]) { display: none; }
@media (max-width: 40rem) { .cards thead { position: absolute; clip-path: inset(50%); width: 1px; height: 1px; overflow: hidden; } .cards, .cards tbody, .cards caption, .cards td.question { display: block; } .cards tr { display: block; padding: 0.5rem 0; border-bottom: 1px solid var(--rule); } .cards td { display: inline-block; border: 0; padding: 0.1rem 0.9rem 0.1rem 0; } .cards td[data-name]::before { content: attr(data-name) ' '; color: var(--quiet); } }
main:has(.group:target) .group:not(:target) { display: none; }
@media (max-width: 30rem) { main { padding: 0.5rem 0.9rem 3rem; } h1 { font-size: 1.3rem; } .loop { padding: 0.7rem; } th, td { padding: 0.25rem 0.3rem; white-space: normal; font-size: 0.85rem; } svg text { font-size: 15px; } svg .tick, svg .does { font-size: 14px; } td.text, th.text { min-width: 4.5rem; } }
@media print { :root { --ink: #000; --quiet: #444; --paper: #fff; --panel: #fff; --rule: #aaa; --link: #000; --tau: #a33c00; --c0: #00558f; --c1: #a33c00; --c2: #00684c; --c3: #8a3d6f; } .stepper, nav { display: none; } .single .loop:not([aria-current]), main:has(.group:target) .group:not(:target) { display: block; } section { break-inside: auto; } .loop, figure { break-inside: avoid; } .wide { overflow: visible; } }
`;

/** Steps with buttons and arrow keys. The page is whole without it. */
export const STEPPING = `(() => {
  const loops = [...document.querySelectorAll('.loop')];
  const bar = document.querySelector('.stepper');
  if (!bar || loops.length === 0) return;
  const [previous, next, single] = bar.querySelectorAll('button');
  const where = bar.querySelector('output');
  let at = -1;
  const show = (to, focus) => {
    at = Math.min(loops.length - 1, Math.max(0, to));
    loops.forEach((loop, index) => index === at ? loop.setAttribute('aria-current', 'step') : loop.removeAttribute('aria-current'));
    where.textContent = 'Loop ' + (at + 1) + ' of ' + loops.length;
    previous.disabled = at === 0;
    next.disabled = at === loops.length - 1;
    if (focus) loops[at].querySelector('h3').focus({ preventScroll: true });
    loops[at].scrollIntoView({ block: 'start' });
  };
  const fromHash = () => {
    const index = loops.findIndex((loop) => '#' + loop.id === location.hash);
    if (index >= 0) show(index, true);
  };
  previous.addEventListener('click', () => show(at - 1, false));
  next.addEventListener('click', () => show(at + 1, false));
  single.addEventListener('click', () => {
    const on = document.body.classList.toggle('single');
    single.setAttribute('aria-pressed', String(on));
    show(Math.max(0, at), false);
  });
  document.addEventListener('keydown', (event) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const focused = document.activeElement;
    if (focused && focused.scrollWidth > focused.clientWidth && focused.classList.contains('wide')) return;
    if (event.key !== 'ArrowRight' && event.key !== 'ArrowLeft') return;
    event.preventDefault();
    show(event.key === 'ArrowRight' ? at + 1 : at - 1, true);
  });
  addEventListener('hashchange', fromHash);
  bar.hidden = false;
  previous.disabled = true;
  fromHash();
})();`;

/** The page's own policy, which holds for a file too: nothing is loaded from anywhere, and no script runs but this one. */
export function policyOf(script: string | null): string {
  const scripts = script === null ? "'none'" : `'sha256-${createHash('sha256').update(script).digest('base64')}'`;
  return `\n<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src ${scripts}; base-uri 'none'; form-action 'none'">`;
}
