import { create, fromBinary, toBinary } from '@bufbuild/protobuf';
import {
  type AttributeProto,
  AttributeProtoSchema,
  AttributeProto_AttributeType,
  type GraphProto,
  GraphProtoSchema,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  type TensorProto,
  TensorProtoSchema,
  TensorProto_DataLocation,
  TensorProto_DataType,
  TensorShapeProtoSchema,
  TensorShapeProto_DimensionSchema,
  TypeProtoSchema,
  TypeProto_TensorSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from 'onnx-buf';
import { InputError } from './errors.js';

/** Version of the operator set that the graphs use; 17 is the first with LayerNormalization. */
const OPSET = 17;
/** The file format version that belongs to that operator set (ONNX 1.12). */
const IR_VERSION = 8;

/** An attribute of an operator; `float` is named because 1 and 1.0 are the same number here and not in ONNX. */
export type Attribute = { int: number } | { float: number } | { ints: readonly number[] };

/** A graph's input or output; a dimension is a size or the name of one that is free. */
export interface Port {
  name: string;
  type: 'float32' | 'int64';
  shape: readonly (number | string)[];
}

/** Builds an ONNX graph operator by operator. Names of values are unique by their number. */
export interface GraphBuilder {
  /** A constant of 32-bit floats, row-major. Returns its name. */
  floats(name: string, shape: readonly number[], values: Float32Array): string;
  /** A constant of 64-bit integers. Returns its name. */
  ints(name: string, shape: readonly number[], values: readonly number[]): string;
  /** An operator with one output; returns the output's name, which is `output` where that is given. */
  node(operator: string, inputs: readonly string[], attributes?: { [name: string]: Attribute }, output?: string): string;
  /** The bytes of the model file. The same calls give the same bytes. */
  finish(inputs: readonly Port[], outputs: readonly Port[], producerVersion: string): Uint8Array;
}

export function graphBuilder(graphName: string): GraphBuilder {
  const nodes: NodeProto[] = [];
  const constants: TensorProto[] = [];
  const constant = (name: string, type: TensorProto_DataType, shape: readonly number[], bytes: Uint8Array<ArrayBuffer>): string => {
    constants.push(create(TensorProtoSchema, { name, dataType: type, dims: shape.map(BigInt), rawData: bytes }));
    return name;
  };
  return {
    floats: (name, shape, values) => constant(name, TensorProto_DataType.FLOAT, shape, littleEndian(values)),
    ints: (name, shape, values) =>
      constant(name, TensorProto_DataType.INT64, shape, new Uint8Array(BigInt64Array.from(values, (one) => BigInt(one)).buffer)),
    node: (operator, inputs, attributes = {}, output = `${operator}_${nodes.length}`) => {
      const attribute = Object.entries(attributes).map(([name, value]) => attributeOf(name, value));
      nodes.push(
        create(NodeProtoSchema, { name: `node_${nodes.length}`, opType: operator, input: [...inputs], output: [output], attribute }),
      );
      return output;
    },
    finish: (inputs, outputs, producerVersion) =>
      toBinary(
        ModelProtoSchema,
        create(ModelProtoSchema, {
          irVersion: BigInt(IR_VERSION),
          opsetImport: [create(OperatorSetIdProtoSchema, { domain: '', version: BigInt(OPSET) })],
          producerName: 'hopgate',
          producerVersion,
          graph: create(GraphProtoSchema, {
            name: graphName,
            node: nodes,
            initializer: constants,
            input: inputs.map(portOf),
            output: outputs.map(portOf),
          }),
        }),
      ),
  };
}

/** A graph's input or output as a file declares it. */
export interface DeclaredPort {
  name: string;
  /** Of its elements, in lower case: `float`, `float16`, `int64`; `none` where it is no tensor or says nothing. */
  type: string;
  /** Sizes; the name of a free dimension, empty where it has none; null where no shape is declared. */
  shape: readonly (number | string)[] | null;
}

/** A constant of a graph file. */
export interface DeclaredTensor {
  name: string;
  /** Of its elements, in lower case. */
  type: string;
  shape: readonly number[];
  /** Bytes that the shape asks for; null for types of no fixed width. */
  bytes: number | null;
  /** Where the values stand when not in the graph file itself, as written there: nothing is checked. */
  external: { location: string; offset: number; length: number | null } | null;
  /** The values' bytes where the graph file has them as such; else null. */
  raw: Uint8Array | null;
}

/** What a graph file says of itself. */
export interface DeclaredGraph {
  inputs: readonly DeclaredPort[];
  outputs: readonly DeclaredPort[];
  /** Constants of the graph, of its subgraphs and of attributes. */
  tensors: readonly DeclaredTensor[];
  /** Operators' names, without repeats. */
  operators: readonly string[];
  /** Values that an operator or an output asks for and that nothing gives, without repeats. */
  missing: readonly string[];
}

/** Reads a model file's declarations, without running or loading any of it. Throws InputError where the bytes are no ONNX model. */
export function readOnnxGraph(bytes: Uint8Array, file: string): DeclaredGraph {
  let graph: GraphProto | undefined;
  let functions: readonly NodeProto[] = [];
  try {
    const model = fromBinary(ModelProtoSchema, bytes);
    graph = model.graph;
    functions = model.functions.flatMap((one) => one.node);
  } catch (error) {
    throw new InputError(`not an ONNX model (${(error as Error).message})`, { file });
  }
  if (graph === undefined) throw new InputError('not an ONNX model: it holds no graph', { file });
  const found = { tensors: [] as DeclaredTensor[], operators: new Set<string>(), missing: new Set<string>() };
  walkGraph(graph, new Set(), found);
  // A function's values are its own; only what its operators carry counts here.
  for (const node of functions) walkAttributes(node, null, found);
  const constants = new Set(graph.initializer.map((one) => one.name));
  return {
    // Old files repeat their constants among the inputs.
    inputs: graph.input.filter((one) => !constants.has(one.name)).map(declaredPort),
    outputs: graph.output.map(declaredPort),
    tensors: found.tensors,
    operators: [...found.operators].toSorted(),
    missing: [...found.missing],
  };
}

interface Found {
  tensors: DeclaredTensor[];
  operators: Set<string>;
  missing: Set<string>;
}

/** `outer` holds the values of the graphs around it; null where they are not known, and then nothing counts as missing. */
function walkGraph(graph: GraphProto, outer: ReadonlySet<string> | null, found: Found): void {
  const known = new Set(outer);
  for (const one of graph.input) known.add(one.name);
  for (const one of graph.initializer) {
    known.add(one.name);
    found.tensors.push(declaredTensor(one));
  }
  for (const { values, indices } of graph.sparseInitializer) {
    for (const one of [values, indices]) if (one !== undefined) found.tensors.push(declaredTensor(one));
    if (values !== undefined) known.add(values.name);
  }
  for (const node of graph.node) {
    // Optional inputs that are left out have an empty name.
    for (const name of node.input) if (name !== '' && outer !== null && !known.has(name)) found.missing.add(name);
    walkAttributes(node, outer === null ? null : known, found);
    for (const name of node.output) known.add(name);
  }
  for (const one of graph.output) if (outer !== null && !known.has(one.name)) found.missing.add(one.name);
}

function walkAttributes(node: NodeProto, known: ReadonlySet<string> | null, found: Found): void {
  found.operators.add(node.opType);
  for (const { t: tensor, tensors, g: graph, graphs } of node.attribute) {
    for (const one of tensor === undefined ? tensors : [tensor, ...tensors]) found.tensors.push(declaredTensor(one));
    for (const one of graph === undefined ? graphs : [graph, ...graphs]) walkGraph(one, known, found);
  }
}

function declaredTensor(tensor: TensorProto): DeclaredTensor {
  const shape = tensor.dims.map(Number);
  const width = ELEMENT_BITS[tensor.dataType];
  const entries = new Map(tensor.externalData.map(({ key, value }) => [key, value]));
  const number = (key: string): number | null => (entries.has(key) ? Number(entries.get(key)) : null);
  return {
    name: tensor.name,
    type: typeName(tensor.dataType),
    shape,
    bytes: width === undefined ? null : Math.ceil(shape.reduce((product, size) => product * size, width) / 8),
    external:
      tensor.dataLocation === TensorProto_DataLocation.EXTERNAL || entries.size > 0
        ? { location: entries.get('location') ?? '', offset: number('offset') ?? 0, length: number('length') }
        : null,
    raw: tensor.rawData.length === 0 ? null : tensor.rawData,
  };
}

function declaredPort({ name, type }: ValueInfoProto): DeclaredPort {
  if (type?.value.case !== 'tensorType') return { name, type: 'none', shape: null };
  const { elemType, shape } = type.value.value;
  return {
    name,
    type: typeName(elemType),
    shape: shape?.dim.map(({ value }) => (value.case === 'dimValue' ? Number(value.value) : (value.value ?? ''))) ?? null,
  };
}

function typeName(type: number): string {
  return (TensorProto_DataType[type] ?? `type ${type}`).toLowerCase();
}

/** Bits an element takes in raw bytes. */
const ELEMENT_BITS: { readonly [type: number]: number } = {
  [TensorProto_DataType.FLOAT]: 32,
  [TensorProto_DataType.UINT8]: 8,
  [TensorProto_DataType.INT8]: 8,
  [TensorProto_DataType.UINT16]: 16,
  [TensorProto_DataType.INT16]: 16,
  [TensorProto_DataType.INT32]: 32,
  [TensorProto_DataType.INT64]: 64,
  [TensorProto_DataType.BOOL]: 8,
  [TensorProto_DataType.FLOAT16]: 16,
  [TensorProto_DataType.BFLOAT16]: 16,
  [TensorProto_DataType.DOUBLE]: 64,
  [TensorProto_DataType.UINT32]: 32,
  [TensorProto_DataType.UINT64]: 64,
  [TensorProto_DataType.UINT4]: 4,
  [TensorProto_DataType.INT4]: 4,
};

function attributeOf(name: string, value: Attribute): AttributeProto {
  if ('int' in value) return create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.INT, i: BigInt(value.int) });
  if ('float' in value) return create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.FLOAT, f: value.float });
  return create(AttributeProtoSchema, { name, type: AttributeProto_AttributeType.INTS, ints: value.ints.map(BigInt) });
}

function portOf({ name, type, shape }: Port): ValueInfoProto {
  const dim = shape.map((size) =>
    create(TensorShapeProto_DimensionSchema, {
      value: typeof size === 'number' ? { case: 'dimValue', value: BigInt(size) } : { case: 'dimParam', value: size },
    }),
  );
  const tensor = create(TypeProto_TensorSchema, {
    elemType: type === 'float32' ? TensorProto_DataType.FLOAT : TensorProto_DataType.INT64,
    shape: create(TensorShapeProtoSchema, { dim }),
  });
  return create(ValueInfoProtoSchema, { name, type: create(TypeProtoSchema, { value: { case: 'tensorType', value: tensor } }) });
}

/** ONNX wants little-endian bytes; every platform that Node runs on today stores numbers so. */
function littleEndian(values: Float32Array): Uint8Array<ArrayBuffer> {
  const copy = Float32Array.from(values);
  return new Uint8Array(copy.buffer);
}
