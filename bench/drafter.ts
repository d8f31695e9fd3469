// Steps of drafter training a second on each backend that loads here, beside PyTorch on the CPU with the same model, batch and optimiser where
// a Python with torch is at hand; then drafts a second in onnxruntime. After compiling the tests:
//   node build/bench/drafter.js [steps]
import { spawnSync } from 'node:child_process';
import { cpus, totalmem } from 'node:os';
import { disposeState } from '../distill/adam.js';
import { BACKENDS, type Examples, type FitOptions, SHAPES, drafterOnnx, openTensorFlow, parameterCount } from '../distill/index.js';
import { initialParameters } from '../distill/drafter-model.js';
import { initialState, trainStep } from '../distill/fit.js';
import { openDraftModel } from '../runtime/index.js';
import { type Random, random } from '../src/core/random.js';

const DIMENSIONS = 768;
const BATCH = 64;
const DROPOUT = 0.4;
const WARM_UP = 3;
const shape = SHAPES['320-256x3'];

const steps = Number(process.argv[2] ?? 100);
if (!(Number.isInteger(steps) && steps > 0)) throw new RangeError(`steps: got ${process.argv[2]}, expected a positive integer`);

const TORCH = `
import sys, time
import torch
steps, warm_up, batch, width = (int(one) for one in sys.argv[1:5])
torch.manual_seed(13)
trunk = torch.nn.Sequential(torch.nn.Linear(width, 320), torch.nn.ReLU(), torch.nn.Dropout(${DROPOUT}), torch.nn.Linear(320, 256), torch.nn.ReLU(), torch.nn.Dropout(${DROPOUT}), torch.nn.Linear(256, 3 * width + 3))
optimiser = torch.optim.Adam(trunk.parameters(), lr=1e-3)
unit = lambda *shape: torch.nn.functional.normalize(torch.randn(*shape), dim=-1)
question, claims, mask, count = unit(batch, width), unit(batch, 3, width), torch.tensor([1.0, 1.0, 0.0]).repeat(batch, 1), torch.ones(batch, dtype=torch.long)
for step in range(warm_up + steps):
    if step == warm_up: started = time.perf_counter()
    out = trunk(question)
    slots = out[:, :3 * width].reshape(batch, 3, width) + question[:, None]
    distance = (1 - torch.nn.functional.cosine_similarity(slots, claims, dim=-1)) * mask
    loss = distance.sum() / mask.sum() + 0.1 * torch.nn.functional.cross_entropy(out[:, 3 * width:], count)
    optimiser.zero_grad(); loss.backward(); optimiser.step()
print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads: {steps / (time.perf_counter() - started):.1f} steps/s")
`;

const [cpu] = cpus();
console.log(
  `machine: ${cpus().length} × ${cpu?.model.trim() ?? 'unknown'}, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, ${process.platform} ${process.arch}, Node ${process.version}`,
);
console.log(`drafter of ${parameterCount(shape, DIMENSIONS)} parameters, batch ${BATCH}, dropout ${DROPOUT}`);
for (const backend of BACKENDS) await measureBackend(backend);
measureTorch();
await measureInference();

async function measureBackend(backend: (typeof BACKENDS)[number]): Promise<void> {
  let opened;
  try {
    opened = await openTensorFlow(backend);
  } catch (error) {
    console.log(`${backend}: left out, ${(error as Error).message}`);
    return;
  }
  const { tf, why } = opened;
  // Plain JavaScript takes most of a second a step.
  const count = backend === 'js' ? Math.min(steps, 5) : steps;
  const examples = someExamples();
  const indices = examples.questions.map((_, index) => index);
  const model = { shape, dimensions: DIMENSIONS, residual: true };
  let state = initialState(tf, shape, DIMENSIONS, 13);
  let started = 0n;
  for (let step = 0; step < WARM_UP + count; step++) {
    if (step === WARM_UP) started = process.hrtime.bigint();
    const next = trainStep(tf, model, state, examples, indices, fitOptions());
    disposeState(state);
    state = next.state;
  }
  const seconds = Number(process.hrtime.bigint() - started) / 1e9;
  disposeState(state);
  console.log(`${backend} (${why}): ${(count / seconds).toFixed(1)} steps/s`);
}

function someExamples(): Examples {
  const draw = random(13, 'bench drafter');
  return {
    dimensions: DIMENSIONS,
    questions: Array.from({ length: BATCH }, () => unitVector(draw)),
    claims: Array.from({ length: BATCH }, () => [unitVector(draw), unitVector(draw)]),
  };
}

function unitVector(draw: Random): Float32Array {
  const vector = Float32Array.from({ length: DIMENSIONS }, () => draw.float() - 0.5);
  const length = Math.hypot(...vector);
  return vector.map((one) => one / length);
}

function fitOptions(): FitOptions {
  return {
    shape,
    residual: true,
    dropout: DROPOUT,
    weightDecay: 0,
    learningRate: 0.001,
    batch: BATCH,
    epochs: 1,
    patience: 0,
    matching: 'order',
    countWeight: 0.1,
    seed: 13,
  };
}

function measureTorch(): void {
  const python = process.env.HOPGATE_TEST_PYTHON ?? '.venv/bin/python';
  const done = spawnSync(python, ['-c', TORCH, String(steps), String(WARM_UP), String(BATCH), String(DIMENSIONS)], { encoding: 'utf8' });
  console.log(
    done.status === 0 ? done.stdout.trim() : 'PyTorch: left out, no Python with torch (HOPGATE_TEST_PYTHON, else .venv/bin/python)',
  );
}

async function measureInference(): Promise<void> {
  const model = { shape, dimensions: DIMENSIONS, residual: true, parameters: initialParameters(shape, DIMENSIONS, 13) };
  const drafter = await openDraftModel(drafterOnnx(model), 'bench', { ...shape, dimensions: DIMENSIONS });
  const question = unitVector(random(13, 'bench drafter', 'question'));
  const rounds = 2000;
  for (let round = 0; round < 200; round++) await drafter.draft(question);
  const started = process.hrtime.bigint();
  for (let round = 0; round < rounds; round++) await drafter.draft(question);
  const ms = Number(process.hrtime.bigint() - started) / 1e6 / rounds;
  await drafter.close();
  console.log(`onnxruntime, one question at a time: ${ms.toFixed(3)} ms a draft`);
}
