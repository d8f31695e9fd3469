import { temporaryFolder } from './files.js';
import { runPython } from './python.js';

/** What the trainer and its tests import. */
export const TRAINER_MODULES = ['torch', 'transformers', 'peft', 'onnx', 'onnx_ir', 'onnxruntime'];

export const TINY_BASES = {
  qwen2: { type: 'qwen2', tied: true },
  qwen2_untied: { type: 'qwen2', tied: false },
  llama: { type: 'llama', tied: true },
  qwen3: { type: 'qwen3', tied: true },
};

let bases: string | undefined;

/** A folder with a tiny random base of each kind, made once. */
export async function tinyBases(python: string): Promise<string> {
  if (bases === undefined) {
    const folder = await temporaryFolder();
    runPython(python, 'tiny_bases.py', { folder, bases: TINY_BASES });
    bases = folder;
  }
  return bases;
}
