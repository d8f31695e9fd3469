import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { labelFolder, twoWikiFile } from './support/label-folder.js';
import { repositoryRoot } from './support/root.js';

const npm = process.platform === 'win32' ? 'npm.cmd' : 'npm';

test(
  'P61: the packed artefact installs without scripts into an empty project; its command, doors and types work there',
  { timeout: 900_000 },
  async (t) => {
    const reachable = spawnSync(npm, ['ping', '--fetch-timeout=10000', '--fetch-retries=0'], { encoding: 'utf8' });
    if (reachable.status !== 0) return t.skip('needs registry: npm ping failed');
    const project = mkdtempSync(join(tmpdir(), 'hopgate-package-'));
    // npm test has built dist; packing it again with scripts would rebuild it under the other tests.
    run(npm, ['pack', '--ignore-scripts', '--pack-destination', project], repositoryRoot);
    const tarball = readdirSync(project).find((name) => /^hopgate-.*\.tgz$/.test(name)) as string;
    writeFileSync(join(project, 'package.json'), '{ "name": "an-empty-project", "private": true, "type": "module" }');
    run(npm, ['install', '--ignore-scripts', '--no-audit', '--no-fund', tarball], project);

    const { folder: labels } = await labelFolder(await twoWikiFile(12));
    const bin = join(project, 'node_modules', '.bin', 'hopgate');
    const packed = JSON.parse(run('tar', ['-xzOf', tarball, 'package/package.json'], project)) as { version: string };
    assert.equal(run(bin, ['--version'], project).trim(), packed.version);
    const files = run('tar', ['-tzf', tarball], project).trim().split('\n');
    assert.deepEqual(
      files.filter(
        (name) =>
          !/^package\/(dist\/(src|datasets|runtime|train|distill)\/.*\.(js|d\.ts)|[A-Z]+(\.md)?|package\.json|models\/encoders\.json|datasets\/official-files\.json|train\/trainer\/(\w+\.py|requirements\.txt)|train\/job\/run\.sh)$/.test(
            name,
          ),
      ),
      [],
      'only compiled files, registries and documents are packed',
    );

    writeFileSync(
      join(project, 'doors.ts'),
      `import { calibrate, InputError, product } from 'hopgate';
import { openRecords } from 'hopgate/datasets';
import { SHAPES, openTensorFlow, parameterCount } from 'hopgate/distill';
import { planVerifier } from 'hopgate/train';
import { createMargin, gate, openEncoder, type Encoder } from 'hopgate/runtime';
import { holm, learnThenTest, mcnemarExact, newcombePaired, pairedBootstrap, tost } from 'hopgate/stats';
const encoder: Encoder = await openEncoder('minilm', { cacheDir: 'cache' });
// @ts-expect-error the role is required: the same text has other vectors on the two sides
void encoder.encode(['a']);
const [target, far, near] = await encoder.encode(['Marie Curie', 'The river Thames', 'Marie Curie was a physicist.'], 'query');
const margin = createMargin({ targets: [target as Float32Array] });
const before = margin.observe([far as Float32Array]).margin;
const after = margin.observe([near as Float32Array]).margin;
console.log(product().name, typeof openRecords, typeof InputError, typeof calibrate, typeof planVerifier, before !== null && before > 0.5, gate(after, 0.5));
await encoder.close();
const { backend } = await openTensorFlow('auto');
console.log(backend, parameterCount(SHAPES['320-256x3'], 768));
const { difference, low, high } = newcombePaired({ n: 1000, bothRight: 169, onlyA: 30, onlyB: 15 });
console.log([difference, low, high].map((share) => (100 * share).toFixed(1)).join(' '), mcnemarExact({ onlyA: 30, onlyB: 15 }).p.toFixed(3));
console.log([holm, learnThenTest, pairedBootstrap, tost].map((one) => typeof one).join(' '));
`,
    );
    const compiler = join(repositoryRoot, 'node_modules', '.bin', 'tsc');
    const flags = [
      '--strict',
      '--module',
      'nodenext',
      '--target',
      'es2023',
      '--skipLibCheck',
      '--typeRoots',
      join(repositoryRoot, 'node_modules', '@types'),
      '--types',
      'node',
    ];
    run(compiler, [...flags, 'doors.ts'], project);
    assert.equal(
      run(process.execPath, ['doors.js'], project).trim(),
      'hopgate function function function function true call\nwasm 921155\n1.5 0.2 2.8 0.036\nfunction function function function',
    );

    // A job is planned with the trainer, the script and the tokenizer that came with the package.
    run(bin, ['verifier', 'plan', '--labels', labels, '--base', 'Qwen/Qwen2.5-0.5B-Instruct', '--out', 'job'], project);
    for (const [planned, own] of [
      ['run.sh', 'train/job/run.sh'],
      ['requirements.txt', 'train/trainer/requirements.txt'],
      ['trainer/__main__.py', 'train/trainer/__main__.py'],
    ] as const)
      assert.deepEqual(readFileSync(join(project, 'job', planned)), readFileSync(join(repositoryRoot, own)), planned);
  },
);

function run(command: string, args: readonly string[], cwd: string): string {
  const done = spawnSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 1 << 26 });
  assert.equal(done.status, 0, `${command} ${args.join(' ')}: exit ${String(done.status)}\n${done.stdout}\n${done.stderr}`);
  return done.stdout;
}
