import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTensorFlow } from '../../distill/index.js';
import { random } from '../../src/core/random.js';

function absent(name: string): Promise<unknown> {
  return Promise.reject(Object.assign(new Error(`Cannot find package '${name}'`), { code: 'ERR_MODULE_NOT_FOUND' }));
}

test('P72: without the native packages, auto computes with WASM and says why', async () => {
  const { tf, backend, why } = await openTensorFlow('auto', absent);
  assert.equal(backend, 'wasm');
  assert.equal(why, 'auto, not gpu: @tensorflow/tfjs-node-gpu is not installed, not cpu: @tensorflow/tfjs-node is not installed');
  assert.equal(tf.getBackend(), 'wasm');
  assert.deepEqual(await openTensorFlow('wasm', absent).then((one) => one.why), 'asked for');
});

test('P72: a native package that was asked for and is absent or broken is an error that says which', async () => {
  await assert.rejects(openTensorFlow('gpu', absent), {
    name: 'InputError',
    message: '--backend gpu: @tensorflow/tfjs-node-gpu is not installed; --backend wasm works everywhere',
  });
  const broken = (): Promise<unknown> => Promise.reject(new Error('libtensorflow.so.2: cannot open shared object file\nmore'));
  await assert.rejects(openTensorFlow('cpu', broken), {
    name: 'InputError',
    message:
      '--backend cpu: @tensorflow/tfjs-node does not load (libtensorflow.so.2: cannot open shared object file); --backend wasm works everywhere',
  });
  await assert.rejects(
    openTensorFlow('cpu', () => Promise.resolve({})),
    {
      message: '--backend cpu: @tensorflow/tfjs-node registered no backend; --backend wasm works everywhere',
    },
  );
});

test('P72: a native package that is there is taken by auto, and whether it has a GPU is said', async () => {
  const { tf } = await openTensorFlow('js');
  // Stands for the native package: the plain backend under the name that the addon registers.
  const found = (isUsingGpuDevice: boolean) => (): Promise<unknown> => {
    if (tf.findBackendFactory('tensorflow')) tf.removeBackend('tensorflow');
    tf.registerBackend('tensorflow', () =>
      Object.assign(Object.create(tf.findBackend('cpu')) as ReturnType<typeof tf.backend>, { isUsingGpuDevice }),
    );
    return Promise.resolve({});
  };
  const withGpu = await openTensorFlow('auto', found(true));
  assert.deepEqual([withGpu.backend, withGpu.why], ['gpu', 'auto (a GPU is used)']);
  const without = await openTensorFlow('gpu', found(false));
  assert.deepEqual([without.backend, without.why], ['gpu', 'asked for (its library sees no GPU and computes on the CPU)']);
});

test('the WASM product that transposes first equals the sums written out, for every transposition and for batches', async () => {
  const { tf } = await openTensorFlow('wasm', absent);
  const draw = random(3);
  for (const batch of [undefined, 3]) {
    for (const [transposeA, transposeB] of [
      [false, false],
      [true, false],
      [false, true],
      [true, true],
    ] as const) {
      const [n, inner, m, batches] = [5, 7, 4, batch ?? 1];
      const a = Float32Array.from({ length: batches * n * inner }, () => draw.float() - 0.5);
      const b = Float32Array.from({ length: batches * inner * m }, () => draw.float() - 0.5);
      const outer = batch === undefined ? [] : [batch];
      const before = tf.memory().numTensors;
      const got = tf.tidy(() =>
        tf
          .matMul(
            tf.tensor(a, [...outer, ...(transposeA ? [inner, n] : [n, inner])]),
            tf.tensor(b, [...outer, ...(transposeB ? [m, inner] : [inner, m])]),
            transposeA,
            transposeB,
          )
          .dataSync(),
      );
      assert.equal(tf.memory().numTensors, before);
      for (let p = 0; p < batches; p++) {
        for (let i = 0; i < n; i++) {
          for (let j = 0; j < m; j++) {
            let sum = 0;
            for (let k = 0; k < inner; k++) {
              const left = a[p * n * inner + (transposeA ? k * n + i : i * inner + k)] as number;
              const right = b[p * inner * m + (transposeB ? j * inner + k : k * m + j)] as number;
              sum += left * right;
            }
            // Seven products of numbers below 0.25 in 32-bit floats: the rounding stays below 7 · 0.25 · 2⁻²³.
            assert.ok(Math.abs(sum - (got[p * n * m + i * m + j] as number)) < 1e-6);
          }
        }
      }
    }
  }
});
