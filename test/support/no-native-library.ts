// Loaded before a program (`node --import`): as if onnxruntime-node had no library for this machine.
import Module from 'node:module';

type Load = (request: string, ...rest: unknown[]) => unknown;

const loader = Module as unknown as { _load: Load };
const load = loader._load;
loader._load = function (this: unknown, request, ...rest) {
  if (request === 'onnxruntime-node') throw new Error('no onnxruntime_binding.node here\nRequire stack: …');
  return load.call(this, request, ...rest);
};
