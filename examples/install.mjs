// Installs the packages of the examples (all, or those named), side by side, and links `hopgate` so that they import it by its name.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const examples = dirname(fileURLToPath(import.meta.url));
const all = readdirSync(examples).filter((name) => existsSync(join(examples, name, 'package.json')));
const wanted = process.argv.slice(2).length > 0 ? process.argv.slice(2) : all;
const unknown = wanted.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  process.stderr.write(`examples: got ${JSON.stringify(unknown[0])}, expected one of ${all.join(', ')}\n`);
  process.exit(2);
}

const link = join(examples, 'node_modules', 'hopgate');
if (!existsSync(link)) {
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(dirname(examples), link, 'junction');
}

const flags = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'];
const codes = await Promise.all(
  wanted.map(
    (name) =>
      new Promise((done) => {
        const npm = spawn('npm', flags, { cwd: join(examples, name), stdio: 'inherit', shell: process.platform === 'win32' });
        npm.on('error', () => done(1));
        npm.on('close', (code) => done(code ?? 1));
      }),
  ),
);
wanted.forEach((name, at) => {
  if (codes[at] !== 0) process.stderr.write(`examples: npm ci failed in examples/${name} (exit ${codes[at]})\n`);
});
process.exitCode = codes.every((code) => code === 0) ? 0 : 1;
