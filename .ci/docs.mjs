// Writes the command's usage into README.md between its two marks; with --check it only compares and fails when the text is stale.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const { usage } = await import(join(root, 'dist', 'src', 'cli', 'usage.js'));
const file = join(root, 'README.md');
const [open, close] = ['<!-- usage: written by `npm run docs` -->', '<!-- /usage -->'];

const before = readFileSync(file, 'utf8');
const [start, end] = [before.indexOf(open), before.indexOf(close)];
if (start < 0 || end < start) {
  console.error(`README.md: the marks ${open} and ${close} are missing`);
  process.exit(1);
}
const after = `${before.slice(0, start + open.length)}\n\n\`\`\`text\n${await usage()}\n\`\`\`\n\n${before.slice(end)}`;
if (process.argv.includes('--check')) {
  if (after !== before) {
    console.error('README.md: the usage is stale; `npm run docs` writes it anew');
    process.exit(1);
  }
  console.log('README.md: the usage is that of the command');
} else {
  writeFileSync(file, after);
}
