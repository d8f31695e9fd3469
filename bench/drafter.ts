/**
 * Drafter training on every backend that loads here beside PyTorch, and its graph in onnxruntime-node beside Python's onnxruntime: the same
 * weights, batch, loss and optimiser. `node build/bench/drafter.js [rounds]` measures each in a process of its own, in turn, so many times
 * (5), and prints medians, and whether both compute the same; exit 1 where they don't. Python: HOPGATE_TEST_PYTHON, else .venv/bin/python.
 */
import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { arch, cpus, loadavg, platform, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { disposeState } from '../distill/adam.js';
import { initialParameters } from '../distill/drafter-model.js';
import { initialState, trainStep } from '../distill/fit.js';
import { BACKENDS, type Backend, type Examples, type FitOptions, SHAPES } from '../distill/index.js';
import { drafterOnnx, drafterSafetensors, openTensorFlow, parameterCount } from '../distill/index.js';
import { openOnnxModel } from '../runtime/models/onnx-session.js';
import { type Random, random } from '../src/core/random.js';
import { readSafetensors } from '../src/core/safetensors.js';
import { examplesSafetensors } from '../test/support/drafter-examples.js';
import { repositoryRoot } from '../test/support/root.js';

/** What a process is asked to measure; `drafter.py` reads the same. */
interface Task {
  what: 'train' | 'infer';
  backend?: Backend;
  dimensions: number;
  /** Files with weights, examples and the graph; where Python's outputs go. */
  weights: string;
  examples: string;
  onnx: string;
  outputs: string;
  batch: number;
  threads: number;
  slots: number;
  dropout: number;
  learning_rate: number;
  count_weight: number;
  /** Steps without dropout whose losses are compared. */
  first: number;
  seconds: number;
}

interface Measured {
  version: string;
  /** Rounds a second: steps or runs. */
  rate: number;
  /** Processor time of all threads, milliseconds a round. */
  cpu: number;
  losses?: number[];
}

/** One way to compute a thing. */
interface Contender {
  name: string;
  task: Task;
  python: boolean;
  results: Measured[];
}

const WIDTHS = [768, 384] as const;
const BATCH = 64;
const WARM_UP = 3;
const SEED = 13;
/** 32-bit floats, summed in another order, over the first steps. */
const LOSS_TOLERANCE = 1e-5;
/** Coordinates of unit vectors and logits of order one, 32-bit floats. */
const OUTPUT_TOLERANCE = 1e-6;
const shape = SHAPES['320-256x3'];
const FIT: FitOptions = {
  shape,
  residual: true,
  dropout: 0.4,
  weightDecay: 0,
  learningRate: 0.001,
  batch: BATCH,
  epochs: 1,
  patience: 0,
  matching: 'order',
  countWeight: 0.1,
  seed: SEED,
};

const run = promisify(execFile);
const python = process.env.HOPGATE_TEST_PYTHON ?? join(repositoryRoot, '.venv', 'bin', 'python');
const [what = '5', json = ''] = process.argv.slice(2);

if (what === 'measure') process.stdout.write(JSON.stringify(await measure(JSON.parse(json) as Task)));
else await compare(Number(what));

async function measure(task: Task): Promise<Measured> {
  return task.what === 'train' ? measureTraining(task) : measureInference(task);
}

async function measureTraining({ backend = 'wasm', dimensions, first, seconds }: Task): Promise<Measured> {
  const { tf, why } = await openTensorFlow(backend);
  const examples = someExamples(dimensions);
  const indices = examples.questions.map((_, index) => index);
  const stepper = (options: FitOptions): (() => number) => {
    let state = initialState(tf, shape, dimensions, SEED);
    return () => {
      const next = trainStep(tf, { shape, dimensions, residual: true }, state, examples, indices, options);
      disposeState(state);
      state = next.state;
      return next.loss;
    };
  };
  const calm = stepper({ ...FIT, dropout: 0 });
  const losses = Array.from({ length: first }, () => calm());
  return { ...(await measured(why, stepper(FIT), seconds)), losses };
}

async function measureInference({ onnx, dimensions, batch, seconds }: Task): Promise<Measured> {
  const model = await openOnnxModel(await readFile(onnx), onnx);
  const questions = someQuestions(dimensions, batch);
  const { version } = JSON.parse(await readFile(join(repositoryRoot, 'node_modules/onnxruntime-node/package.json'), 'utf8')) as Measured;
  const result = await measured(version, () => model.run(questions, batch, dimensions), seconds);
  await model.close();
  return result;
}

async function measured(version: string, work: () => unknown, seconds: number): Promise<Measured> {
  for (let round = 0; round < WARM_UP; round++) await work();
  const [started, cpu] = [performance.now(), process.cpuUsage()];
  let rounds = 0;
  for (; rounds < WARM_UP || performance.now() - started < seconds * 1000; rounds++) await work();
  const { user, system } = process.cpuUsage(cpu);
  return { version, rate: (rounds * 1000) / (performance.now() - started), cpu: (user + system) / 1000 / rounds };
}

async function compare(rounds: number): Promise<void> {
  if (!(Number.isInteger(rounds) && rounds > 0)) throw new RangeError(`rounds: got ${what}, expected a positive integer`);
  const [cpu] = cpus();
  const memory = `${(totalmem() / 2 ** 30).toFixed(0)} GiB`;
  print(`machine: ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, ${memory}, ${platform()} ${arch()}, Node ${process.versions.node}`);
  print(`load when this began: ${loadavg()[0]?.toFixed(1)}; medians of ${rounds} rounds in turn`);
  const folder = await mkdtemp(join(tmpdir(), 'hopgate-bench-'));
  try {
    for (const dimensions of WIDTHS) await compareWidth(folder, dimensions, rounds);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function compareWidth(folder: string, dimensions: number, rounds: number): Promise<void> {
  const task = await writeTask(folder, dimensions);
  print(
    `\n${dimensions}-d encoder, ${parameterCount(shape, dimensions)} parameters; training: batch ${BATCH}, dropout ${FIT.dropout}, Adam`,
  );
  const threads = [...new Set([1, cpus().length])];
  const training: Contender[] = [
    ...BACKENDS.map((backend) => ({ name: `TensorFlow.js ${backend}`, task: { ...task, backend }, python: false, results: [] })),
    ...threads.map((count) => ({ name: `PyTorch, ${named(count)}`, task: { ...task, threads: count }, python: true, results: [] })),
  ];
  report(await inTurn(training, rounds), 'PyTorch, one thread', 'steps/s');
  const losses = training.flatMap(({ results }) => results.slice(0, 1).map((one) => one.losses ?? []));
  agree(`losses of the first ${task.first} steps without dropout`, farthest(losses), LOSS_TOLERANCE);
  for (const batch of [1, BATCH]) {
    print(`inference, ${batch === 1 ? 'one question' : `${batch} questions at once`}`);
    const infer: Task = { ...task, what: 'infer', batch };
    const inference: Contender[] = [
      { name: 'onnxruntime-node, one thread', task: infer, python: false, results: [] },
      ...threads.map((count) => ({ name: `Python, ${named(count)}`, task: { ...infer, threads: count }, python: true, results: [] })),
    ];
    report(await inTurn(inference, rounds), 'Python, one thread', 'runs/s');
    if (inference.some((one) => one.python && one.results.length > 0)) {
      agree('outputs', await outputDifference(infer), OUTPUT_TOLERANCE);
    }
  }
}

async function writeTask(folder: string, dimensions: number): Promise<Task> {
  const model = { shape, dimensions, residual: true, parameters: initialParameters(shape, dimensions, SEED) };
  const file = (name: string): string => join(folder, `${dimensions}-${name}`);
  const files = {
    weights: file('weights.safetensors'),
    examples: file('examples.safetensors'),
    onnx: file('drafter.onnx'),
    outputs: file('out.safetensors'),
  };
  await writeFile(files.weights, drafterSafetensors(model));
  await writeFile(files.examples, examplesSafetensors(someExamples(dimensions), shape));
  await writeFile(files.onnx, drafterOnnx(model));
  const { dropout, learningRate, countWeight } = FIT;
  const fit = { slots: shape.slots, dropout, learning_rate: learningRate, count_weight: countWeight };
  return { what: 'train', dimensions, ...files, batch: BATCH, threads: 1, ...fit, first: 5, seconds: 1.5 };
}

/** Runs all of them once, then all again, and so on; one that cannot run is told of and left out. */
async function inTurn(contenders: readonly Contender[], rounds: number): Promise<Contender[]> {
  const absent = new Set<Contender>();
  for (let round = 0; round < rounds; round++) {
    for (const one of contenders) {
      if (absent.has(one)) continue;
      try {
        one.results.push(await measureApart(one, round));
      } catch (error) {
        absent.add(one);
        print(`  ${one.name}: left out, ${whyNot(error)}`);
      }
    }
  }
  return contenders.filter((one) => !absent.has(one));
}

async function measureApart({ task, python: byPython }: Contender, round: number): Promise<Measured> {
  // The losses are compared once; plain JavaScript takes seconds for them.
  const given = JSON.stringify({ ...task, first: round === 0 ? task.first : 0 });
  const { stdout } = byPython
    ? await run(python, [join(repositoryRoot, 'bench', 'drafter.py'), given])
    : await run(process.execPath, [fileURLToPath(import.meta.url), 'measure', given]);
  return JSON.parse(stdout) as Measured;
}

function whyNot(error: unknown): string {
  const { code, stderr = '', message } = error as { code?: unknown; stderr?: string; message: string };
  if (code === 'ENOENT') return 'no Python is there (HOPGATE_TEST_PYTHON, else .venv/bin/python)';
  return /^(?:InputError|ModuleNotFoundError): (.*)$/m.exec(stderr)?.[1] ?? stderr.trim().split('\n').at(-1) ?? message;
}

function report(contenders: readonly Contender[], base: string, unit: string): void {
  const of = (one: Contender, key: 'rate' | 'cpu'): number => median(one.results.map((result) => result[key]));
  const beside = contenders.find((one) => one.name === base);
  for (const one of contenders) {
    const cells = [`${of(one, 'rate').toFixed(1)} ${unit}`, `${of(one, 'cpu').toFixed(3)} ms of processor`];
    const ratio = (key: 'rate' | 'cpu'): string => (beside ? (of(one, key) / of(beside, key)).toFixed(2) : '');
    const ratios = beside && one !== beside ? `${ratio('rate')} of the speed, ${ratio('cpu')} of the processor time of ${base}` : '';
    print(
      `  ${`${one.name} (${one.results[0]?.version})`.padEnd(46)}${cells.map((cell) => cell.padStart(24)).join('')}   ${ratios}`.trimEnd(),
    );
  }
}

function agree(subject: string, difference: number, tolerance: number): void {
  const same = difference <= tolerance;
  print(`  ${subject}: largest difference ${difference.toExponential(1)}, ${same ? 'within' : 'NOT WITHIN'} ${tolerance}`);
  if (!same) process.exitCode = 1;
}

/** Largest difference of any from the first. */
function farthest([first = [], ...others]: readonly ArrayLike<number>[]): number {
  let most = 0;
  for (const values of others) {
    for (let at = 0; at < values.length; at++) most = Math.max(most, Math.abs((values[at] ?? NaN) - (first[at] ?? NaN)));
  }
  return most;
}

async function outputDifference({ onnx, outputs, batch, dimensions }: Task): Promise<number> {
  const model = await openOnnxModel(await readFile(onnx), onnx);
  const ours = await model.run(someQuestions(dimensions, batch), batch, dimensions);
  await model.close();
  const theirs = await readSafetensors(outputs);
  return Math.max(...Object.entries(ours).map(([name, values]) => farthest([values, theirs.floats(name)])));
}

function someExamples(dimensions: number): Examples {
  const draw = random(SEED, 'bench drafter', 'claims');
  const questions = someQuestions(dimensions, BATCH);
  return {
    dimensions,
    questions: Array.from({ length: BATCH }, (_, at) => questions.slice(at * dimensions, (at + 1) * dimensions)),
    claims: Array.from({ length: BATCH }, (_, at) => Array.from({ length: 1 + (at % shape.slots) }, () => unitVector(draw, dimensions))),
  };
}

/** Row-major [count × dimensions]; the first `count` are the same for every count. */
function someQuestions(dimensions: number, count: number): Float32Array {
  const draw = random(SEED, 'bench drafter', 'questions');
  return Float32Array.from(Array.from({ length: count }, () => [...unitVector(draw, dimensions)]).flat());
}

function unitVector(draw: Random, dimensions: number): Float32Array {
  const vector = Float32Array.from({ length: dimensions }, () => draw.float() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((one) => one / length);
}

function named(threads: number): string {
  return threads === 1 ? 'one thread' : `${threads} threads`;
}

function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = sorted.length >> 1;
  return sorted.length % 2 === 1 ? (sorted[middle] as number) : ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}

function print(line: string): void {
  process.stdout.write(`${line}\n`);
}
