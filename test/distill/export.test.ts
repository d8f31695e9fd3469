import assert from 'node:assert/strict';
import { mkdtemp, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type DrafterModel,
  SHAPES,
  drafterOnnx,
  drafterParameters,
  drafterSafetensors,
  openTensorFlow,
  parameterTensors,
  predictDrafts,
  type Drafts,
} from '../../distill/index.js';
import { initialParameters } from '../../distill/drafter-model.js';
import { openOnnxModel } from '../../runtime/models/onnx-session.js';
import { random } from '../../src/core/random.js';
import { writeFileAtomic } from '../../src/core/output-folder.js';
import { readSafetensors } from '../../src/core/safetensors.js';

const ROWS = 9;

function someQuestions(dimensions: number): Float32Array {
  const draw = random(5);
  const values = Float32Array.from({ length: ROWS * dimensions }, () => draw.float() - 0.5);
  for (let row = 0; row < ROWS; row++) {
    const part = values.subarray(row * dimensions, (row + 1) * dimensions);
    const length = Math.hypot(...part);
    for (let i = 0; i < dimensions; i++) part[i] = (part[i] as number) / length;
  }
  return values;
}

async function drafts(model: DrafterModel, questions: Float32Array): Promise<Drafts> {
  const { tf } = await openTensorFlow('wasm');
  const tensors = parameterTensors(tf, model.shape, model.dimensions, model.parameters);
  const found = predictDrafts(tf, model, tensors, questions);
  for (const one of tensors) one.dispose();
  return found;
}

test('P78: the ONNX graph gives in onnxruntime what TensorFlow.js gives, within 1e-5, for every shape, residual and plain', async () => {
  for (const [name, shape] of Object.entries(SHAPES)) {
    for (const residual of [true, false]) {
      const model: DrafterModel = { shape, dimensions: 48, residual, parameters: initialParameters(shape, 48, 13) };
      const questions = someQuestions(48);
      const expected = await drafts(model, questions);
      const session = await openOnnxModel(drafterOnnx(model), name);
      const got = await session.run(questions, ROWS, 48);
      await session.close();
      assert.deepEqual(Object.keys(got).toSorted(), ['count_logits', 'slots']);
      for (const [output, values] of [
        ['slots', expected.slots],
        ['count_logits', expected.counts],
      ] as const) {
        assert.equal(got[output]?.length, values.length);
        const worst = values.reduce((most, value, at) => Math.max(most, Math.abs(value - (got[output]?.[at] as number))), 0);
        // Unit vectors and logits of order one in 32-bit floats, summed in another order.
        assert.ok(worst <= 1e-5, `${name} ${output}: ${worst}`);
      }
      for (let at = 0; at < ROWS * shape.slots; at++) {
        const length = Math.hypot(...(got.slots?.subarray(at * 48, (at + 1) * 48) ?? []));
        assert.ok(Math.abs(length - 1) < 1e-6);
      }
    }
  }
});

test('P73: weights saved as safetensors and read again give bit-identical outputs', async () => {
  const shape = SHAPES['320-256x3'];
  const model: DrafterModel = { shape, dimensions: 48, residual: true, parameters: initialParameters(shape, 48, 13) };
  const file = join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'drafter.safetensors');
  await writeFileAtomic(file, drafterSafetensors(model));
  const again: DrafterModel = { ...model, parameters: drafterParameters(await readFile(file), file, model) };
  assert.deepEqual(await drafts(again, someQuestions(48)), await drafts(model, someQuestions(48)));
  const tensors = await readSafetensors(file);
  assert.deepEqual(tensors.names, ['hidden.0.bias', 'hidden.0.weight', 'hidden.1.bias', 'hidden.1.weight', 'out.bias', 'out.weight']);
  assert.deepEqual(tensors.shape('out.weight'), [256, 147]);
  assert.deepEqual(drafterSafetensors(model), await readFile(file));
});

test('a damaged safetensors file is refused with the place', async () => {
  const shape = SHAPES['320-256x3'];
  const bytes = drafterSafetensors({ shape, dimensions: 8, residual: true, parameters: initialParameters(shape, 8, 13) });
  const file = join(await mkdtemp(join(tmpdir(), 'hopgate-')), 'drafter.safetensors');
  await writeFile(file, bytes.subarray(0, bytes.length - 4));
  const tensors = 4 * (8 * 320 + 320 + 320 * 256 + 256 + 256 * 27 + 27);
  await assert.rejects(readSafetensors(file), {
    name: 'InputError',
    message: `${file}: the tensors take ${tensors} bytes, the file has ${tensors - 4} after its header`,
  });
});
