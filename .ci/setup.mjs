// The project's own set-up: every npm script comes through here, so that a fresh clone needs no step before it.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const stamp = join(root, 'node_modules', '.hopgate-lock');

function run(command, args, options = {}) {
  const env = { ...process.env, npm_config_onnxruntime_node_install: 'skip', ONNXRUNTIME_NODE_INSTALL: 'skip' };
  const done = spawnSync(command, args, { cwd: root, stdio: 'inherit', env, ...options });
  if (done.error) throw done.error;
  if (done.status !== 0) process.exit(done.status ?? 1);
}

function lockHash() {
  return createHash('sha256')
    .update(readFileSync(join(root, 'package-lock.json')))
    .digest('hex');
}

function install() {
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lockHash()) return;
  process.stderr.write('hopgate: installing packages (npm ci)\n');
  // Children's output goes to stderr: stdout belongs to the command.
  run('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts'], { stdio: ['ignore', 2, 2], shell: process.platform === 'win32' });
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, lockHash());
}

function tool(name) {
  return join(root, 'node_modules', '.bin', process.platform === 'win32' ? `${name}.cmd` : name);
}

function compile(project, folder) {
  rmSync(join(root, folder), { recursive: true, force: true });
  run(tool('tsc'), ['-p', project], { stdio: ['ignore', 2, 2] });
}

const tasks = {
  build: () => compile('tsconfig.json', 'dist'),
  check: () => {
    run(tool('tsc'), ['-p', 'test/tsconfig.json', '--noEmit']);
    tasks.lint();
  },
  lint: () => {
    run(tool('oxlint'), ['--type-aware', '--deny-warnings']);
    run(tool('prettier'), ['--check', '--log-level', 'warn', '.']);
  },
  test: (args) => {
    compile('tsconfig.json', 'dist');
    compile('test/tsconfig.json', 'build');
    run(process.execPath, [join(root, 'build', 'test', 'run.js'), ...args]);
  },
  bench: (args) => {
    compile('test/tsconfig.json', 'build');
    const names = readdirSync(join(root, 'bench'))
      .filter((name) => name.endsWith('.ts'))
      .map((name) => name.slice(0, -3));
    const wanted = args.length === 0 ? names : args;
    for (const name of wanted) {
      if (!names.includes(name)) {
        process.stderr.write(`bench: got ${JSON.stringify(name)}, expected one of ${names.join(', ')}\n`);
        process.exit(2);
      }
      run(process.execPath, [join(root, 'build', 'bench', `${name}.js`)]);
    }
  },
  demo: (args) => {
    compile('tsconfig.json', 'dist');
    run(process.execPath, [join(root, 'dist', 'src', 'cli', 'main.js'), 'demo', ...args]);
  },
  docs: (args) => {
    compile('tsconfig.json', 'dist');
    run(process.execPath, [join(root, '.ci', 'docs.mjs'), ...args]);
  },
};

const [task = '', ...rest] = process.argv.slice(2);
if (!(task in tasks)) {
  process.stderr.write(`setup: unknown task ${JSON.stringify(task)}; expected one of ${Object.keys(tasks).join(', ')}\n`);
  process.exit(2);
}
install();
tasks[task](rest);
