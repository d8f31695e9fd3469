// Runs every test file (or those whose path contains one of the arguments), lists what was skipped and why and what took longest, and fails
// when no test ran or when a part named in HOPGATE_TEST_REQUIRE was missing.
import { appendFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { run } from 'node:test';
import { finished } from 'node:stream/promises';
import { spec } from 'node:test/reporters';
import { fileURLToPath } from 'node:url';

interface TestEvent {
  name: string;
  file?: string;
  skip?: string | boolean;
  todo?: string | boolean;
  details?: { type?: string; error?: unknown; duration_ms?: number };
  nesting?: number;
}

const LONGEST = 20;
/** What takes longer than this hangs: no file needs a third of it, and the others shall still be heard. */
const FILE_LIMIT_MS = 1_800_000;

const folder = dirname(fileURLToPath(import.meta.url));
const wanted = process.argv.slice(2).map((one) => one.replace(/^test\//, '').replace(/\.ts$/, '.js'));
const files = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.test.js'))
  .filter((name) => wanted.length === 0 || wanted.some((one) => name.includes(one)))
  .toSorted()
  .map((name) => join(folder, name));
if (files.length === 0) fail(`no test file matches ${JSON.stringify(wanted)}`);

const required = (process.env.HOPGATE_TEST_REQUIRE ?? '').split(',').filter((one) => one !== '');
const counts = { passed: 0, failed: 0, skipped: 0 };
const failures: string[] = [];
const skips = new Map<string, string[]>();
const times: { label: string; seconds: number }[] = [];

const stream = run({ files, concurrency: 2, timeout: FILE_LIMIT_MS });
stream.on('test:pass', (event: TestEvent) => {
  if (isContainer(event)) return;
  if (event.nesting === 0) times.push({ label: label(event), seconds: (event.details?.duration_ms ?? 0) / 1000 });
  if (event.skip === undefined && event.todo === undefined) {
    counts.passed++;
    return;
  }
  counts.skipped++;
  const reason = typeof event.skip === 'string' && event.skip !== '' ? event.skip : 'no reason given';
  skips.set(reason, [...(skips.get(reason) ?? []), label(event)]);
});
stream.on('test:fail', (event: TestEvent) => {
  if (event.details?.type === 'suite') return;
  counts.failed++;
  failures.push(label(event));
});
const shown = stream.compose(new spec());
shown.pipe(process.stdout);
await finished(shown);

console.log('\nLongest:');
for (const { label: name, seconds } of times.toSorted((a, b) => b.seconds - a.seconds).slice(0, LONGEST)) {
  console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${name}`);
}
if (skips.size > 0) console.log('\nSkipped:');
for (const [reason, names] of skips) {
  console.log(`  ${reason} (${names.length})`);
  for (const name of names) console.log(`    ${name}`);
}
for (const part of required) {
  const missing = [...skips].filter(([reason]) => reason.startsWith(`needs ${part}:`) || reason === 'no reason given');
  for (const [reason, names] of missing) {
    counts.failed += names.length;
    counts.skipped -= names.length;
    for (const name of names) failures.push(`${name}: skipped, but HOPGATE_TEST_REQUIRE names it (${reason})`);
    skips.delete(reason);
  }
}
if (failures.length > 0) console.log('\nFailed:');
for (const name of failures) console.log(`  ${name}`);
if (process.env.HOPGATE_TEST_SUMMARY) appendFileSync(process.env.HOPGATE_TEST_SUMMARY, `${JSON.stringify(counts)}\n`);
console.log(`\n${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
if (counts.passed + counts.failed === 0) fail('no test ran');
process.exitCode = counts.failed > 0 ? 1 : 0;

/** Node reports a file without tests, and every suite, as a test of its own. */
function isContainer(event: TestEvent): boolean {
  return event.details?.type === 'suite' || event.name === event.file;
}

function label(event: TestEvent): string {
  return `${event.file ? relative(folder, event.file).replace(/\.js$/, '.ts') : ''}: ${event.name}`;
}

function fail(message: string): never {
  console.error(message);
  process.exit(1);
}
