import { readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { InputError, shown } from '../src/core/errors.js';
import { type DeclaredGraph, type DeclaredPort, type DeclaredTensor, readOnnxGraph } from '../src/core/onnx-graph.js';
import type { Variant, VariantFiles, VerifierExport } from '../src/core/verifier-export.js';
import { type VerifierPort, verifierPorts } from '../src/core/verifier-ports.js';
import { checkTiedEmbeddings } from './import-tied.js';

/**
 * Checks an exported graph before anything loads it: nothing outside its folder is read, no tensor is missing, inputs and outputs have the
 * names, types and shapes that scoring needs, and no output has the vocabulary's size (method.md §4). Throws InputError that names the fault.
 */
export async function checkGraph(folder: string, made: VerifierExport, variant: Variant): Promise<void> {
  const files = made.variants[variant] as VariantFiles;
  const file = join(folder, files.path);
  const graph = readOnnxGraph(await readFile(file), file);
  await checkExternal(folder, files, graph);
  if (graph.operators.includes('EPContext')) throw new InputError('holds an EPContext operator, which loads other files', { file });
  if (graph.missing.length > 0) {
    const names = graph.missing.slice(0, 5).join(', ');
    throw new InputError(`missing tensor: nothing in the graph gives ${names}${graph.missing.length > 5 ? ', …' : ''}`, { file });
  }
  const { inputs, outputs } = verifierPorts(made.architecture);
  checkPorts(file, 'input', graph.inputs, inputs);
  const large = graph.outputs.find((one) => one.shape?.includes(made.vocab_size));
  if (large !== undefined)
    throw new InputError(
      `output ${large.name} has the vocabulary's size (${made.vocab_size}): a verifier's graph gives the labels' log-probabilities alone, ` +
        'or a batch of prompts would take gigabytes',
      { file },
    );
  checkPorts(file, 'output', graph.outputs, outputs);
  await checkTiedEmbeddings(file, graph, made);
}

function checkPorts(file: string, what: 'input' | 'output', got: readonly DeclaredPort[], wanted: readonly VerifierPort[]): void {
  const byName = new Map(got.map((one) => [one.name, one]));
  for (const { name, type, shape } of wanted) {
    const port = byName.get(name);
    if (port === undefined) throw new InputError(`no ${what} ${name}; it has ${got.map((one) => one.name).join(', ') || 'none'}`, { file });
    // ONNX calls 32-bit floats `float`.
    const declared = type === 'float32' ? 'float' : type;
    if (port.type !== declared) throw new InputError(`${what} ${name} is of ${port.type}, expected ${declared}`, { file });
    const fits =
      port.shape?.length === shape.length &&
      shape.every((size, at) => {
        const found = (port.shape as readonly (number | string)[])[at];
        return typeof size === 'number' ? found === size : typeof found === 'string';
      });
    if (!fits) throw new InputError(`${what} ${name} has the shape ${shapeText(port.shape)}, expected ${shapeText(shape)}`, { file });
  }
  const extra = got.find(({ name }) => !wanted.some((one) => one.name === name));
  if (extra !== undefined) throw new InputError(`${what} ${extra.name} ${shapeText(extra.shape)} is not one that scoring has`, { file });
}

function shapeText(shape: readonly (number | string)[] | null): string {
  return shape === null ? 'none' : `[${shape.map((one) => (one === '' ? '?' : one)).join(', ')}]`;
}

async function checkExternal(folder: string, files: VariantFiles, graph: DeclaredGraph): Promise<void> {
  const file = join(folder, files.path);
  const beside = dirname(files.path);
  for (const path of files.external) {
    if (dirname(path) !== beside) throw new InputError(`external data ${path} does not stand beside the graph`, { file });
  }
  const sizes = new Map<string, number>();
  const used = new Set<string>();
  for (const tensor of graph.tensors) {
    if (tensor.external === null) continue;
    const { location } = tensor.external;
    const place = { file, field: tensor.name };
    // A plain name alone: onnxruntime follows "../", absolute paths and links as far as they go.
    if (!/^(?!\.)[\w.-]+$/.test(location))
      throw new InputError(`its external data points to ${shown(location)}, expected a plain file name beside the graph`, place);
    if (!files.external.some((one) => basename(one) === location))
      throw new InputError(
        `its external data ${location} is not listed in export.json; it has ${files.external.join(', ') || 'none'}`,
        place,
      );
    used.add(location);
    const path = join(folder, beside, location);
    const size = sizes.get(location) ?? (await stat(path).catch(() => undefined))?.size;
    if (size === undefined) throw new InputError(`its external data ${location} is missing`, place);
    sizes.set(location, size);
    checkSpan(tensor, size, place);
  }
  const idle = files.external.find((one) => !used.has(basename(one)));
  if (idle !== undefined)
    throw new InputError(`no tensor of the graph stands in ${idle}, which export.json lists as its external data`, { file });
}

function checkSpan({ bytes, external, type, shape }: DeclaredTensor, size: number, place: { file: string; field: string }): void {
  const { location, offset, length } = external as NonNullable<DeclaredTensor['external']>;
  const span = length ?? size - offset;
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(span) || offset < 0 || span < 0 || offset + span > size)
    throw new InputError(`its external data is bytes ${offset} to ${offset + span} of ${location}, which has ${size}`, place);
  if (bytes !== null && span !== bytes)
    throw new InputError(`its external data has ${span} bytes, expected ${bytes} for ${type} of shape ${shown(shape)}`, place);
}
