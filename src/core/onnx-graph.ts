import { create, toBinary } from '@bufbuild/protobuf';
import {
  type AttributeProto,
  AttributeProtoSchema,
  AttributeProto_AttributeType,
  GraphProtoSchema,
  ModelProtoSchema,
  type NodeProto,
  NodeProtoSchema,
  OperatorSetIdProtoSchema,
  type TensorProto,
  TensorProtoSchema,
  TensorProto_DataType,
  TensorShapeProtoSchema,
  TensorShapeProto_DimensionSchema,
  TypeProtoSchema,
  TypeProto_TensorSchema,
  type ValueInfoProto,
  ValueInfoProtoSchema,
} from 'onnx-buf';

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
