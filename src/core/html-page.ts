/** Text for HTML: the five characters that mean something there are escaped. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
}

/** A table of plain texts; cells that look like numbers stand at the right, but for the first column, which holds names. */
export function htmlTable(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const head = header.map((cell) => `<th scope="col">${escapeHtml(cell)}</th>`).join('');
  const body = rows.map(
    (row) =>
      `<tr>${row.map((cell, column) => `<td${column > 0 && /^[−–+\-\d]/.test(cell) ? ' class="n"' : ''}>${escapeHtml(cell)}</td>`).join('')}</tr>`,
  );
  return `<div class="wide"><table><thead><tr>${head}</tr></thead><tbody>\n${body.join('\n')}\n</tbody></table></div>`;
}

export function htmlParagraphs(lines: readonly string[]): string {
  return lines.map((line) => `<p>${escapeHtml(line)}</p>`).join('\n');
}

export interface Section {
  heading: string;
  /** Ready HTML. */
  body: string;
}

export interface PageOptions {
  /** Ready HTML of the head, before the style. */
  head?: string | undefined;
  /** CSS behind the common look. */
  style?: string | undefined;
  /** Ready HTML between heading and sections. */
  lead?: string | undefined;
  /** Ready HTML behind the sections. */
  foot?: string | undefined;
}

/** One self-contained page: no font, no picture from elsewhere, no other host; no script but what `foot` brings. */
export function htmlPage(title: string, sections: readonly Section[], options: PageOptions = {}): string {
  const { head = '', style = '', lead = '', foot = '' } = options;
  const parts = sections.map(({ heading, body }) => `<section>\n<h2>${escapeHtml(heading)}</h2>\n${body}\n</section>`);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">${head}
<title>${escapeHtml(title)}</title>
<style>${STYLE}${style}</style>
</head>
<body>
<main>
<h1>${escapeHtml(title)}</h1>
${[lead, ...parts].filter((part) => part !== '').join('\n')}
</main>
${foot}</body>
</html>
`;
}

const STYLE = `
body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; background: #fff; margin: 0; }
main { max-width: 62rem; margin: 0 auto; padding: 1rem 1.25rem 4rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; border-bottom: 1px solid #ccc; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.25rem 0.6rem; border-bottom: 1px solid #ddd; text-align: left; white-space: nowrap; }
th { border-bottom: 2px solid #888; } td.n { text-align: right; }
pre { white-space: pre-wrap; background: #f6f6f6; padding: 0.75rem; font-size: 0.85rem; }
svg { max-width: 100%; height: auto; }
@media print { main { max-width: none; } section { break-inside: avoid; } }
`;
