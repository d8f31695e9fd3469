import { createRequire } from 'node:module';
import { InputError } from '../src/core/errors.js';
import type { Tf } from './tensors.js';
import { multiplyTransposedFirst } from './wasm-matmul.js';

/** `gpu`: @tensorflow/tfjs-node-gpu; `cpu`: @tensorflow/tfjs-node; `wasm`: WebAssembly; `js`: plain JavaScript. */
export const BACKENDS = ['gpu', 'cpu', 'wasm', 'js'] as const;
export type Backend = (typeof BACKENDS)[number];
export type BackendChoice = 'auto' | Backend;

/** The backend that computes, and in words why it was this one. */
export interface OpenedTensorFlow {
  tf: Tf;
  backend: Backend;
  /** For `gpu` also whether a GPU is really used. */
  why: string;
}

/** Loads an npm package; a test passes one that answers for packages that are absent here. */
export type LoadPackage = (name: string) => Promise<unknown>;

const NATIVE = { gpu: '@tensorflow/tfjs-node-gpu', cpu: '@tensorflow/tfjs-node' } as const;
/** `auto` tries these in order; plain JavaScript is an order of magnitude slower and only used when asked for. */
const AUTO = ['gpu', 'cpu', 'wasm'] as const;

/**
 * Loads TensorFlow.js with the chosen backend. The two native packages are optional and found at run time (their install scripts download a
 * C library, which must never stand between a user and this product). Throws InputError when the backend that was asked for does not load.
 */
export async function openTensorFlow(choice: BackendChoice, load: LoadPackage = (name) => import(name)): Promise<OpenedTensorFlow> {
  const tf = await import('@tensorflow/tfjs-core');
  // Its bundle registers the gradients, which tfjs-core's build for Node leaves out.
  await import('@tensorflow/tfjs-layers');
  tf.enableProdMode();
  if (choice !== 'auto') {
    const opened = await attempt(tf, choice, load);
    if (typeof opened === 'string') throw new InputError(`--backend ${choice}: ${opened}; --backend wasm works everywhere`);
    return { tf, backend: choice, why: `asked for${opened.note}` };
  }
  const refused: string[] = [];
  for (const backend of AUTO) {
    const opened = await attempt(tf, backend, load);
    if (typeof opened !== 'string') return { tf, backend, why: `${['auto', ...refused].join(', ')}${opened.note}` };
    refused.push(`not ${backend}: ${opened}`);
  }
  throw new InputError(`no backend of TensorFlow.js loads here (${refused.join('; ')}); --backend js is the last resort`);
}

/** A note to add to the reason, or in words what stands against this backend. */
async function attempt(tf: Tf, backend: Backend, load: LoadPackage): Promise<{ note: string } | string> {
  if (backend === 'gpu' || backend === 'cpu') return native(tf, backend, load);
  if (backend === 'js') {
    await import('@tensorflow/tfjs-backend-cpu');
    return (await tf.setBackend('cpu')) ? { note: '' } : 'the plain JavaScript backend does not start';
  }
  await import('@tensorflow/tfjs-backend-wasm');
  if (!(await tf.setBackend('wasm'))) return 'WebAssembly does not start';
  multiplyTransposedFirst(tf);
  return { note: '' };
}

async function native(tf: Tf, backend: 'gpu' | 'cpu', load: LoadPackage): Promise<{ note: string } | string> {
  restoreRemovedUtilities();
  const name = NATIVE[backend];
  try {
    await load(name);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === 'ERR_MODULE_NOT_FOUND') return `${name} is not installed`;
    return `${name} does not load (${message.split('\n')[0] ?? ''})`;
  }
  if (!tf.findBackendFactory('tensorflow') || !(await tf.setBackend('tensorflow'))) return `${name} registered no backend`;
  if (backend === 'cpu') return { note: '' };
  const { isUsingGpuDevice } = tf.backend() as { isUsingGpuDevice?: boolean };
  return { note: isUsingGpuDevice === true ? ' (a GPU is used)' : ' (its library sees no GPU and computes on the CPU)' };
}

/** Node 23 removed two functions of node:util that @tensorflow/tfjs-node 4.22.0 calls in its operators. */
function restoreRemovedUtilities(): void {
  const util = createRequire(import.meta.url)('node:util') as { [name: string]: unknown };
  util.isNullOrUndefined ??= (value: unknown) => value === null || value === undefined;
  util.isArray ??= Array.isArray;
}
