import { type DenseLayer, denseLayers, parametersOf } from '../src/core/dense-layers.js';
import { InputError } from '../src/core/errors.js';

/** The trunk and slots of a drafter (method.md §7). */
export interface DrafterShape {
  /** Widths of the hidden layers, each followed by ReLU. */
  hidden: readonly number[];
  /** How many claims it drafts at most. */
  slots: number;
  /** Classes of the head that predicts how many claims there are: class i is i + 1 claims. At least `slots`. */
  counts: number;
}

/**
 * The four shapes that give the papers' "921k" for a 768-d encoder; other widths keep the trunk and scale the slots. Named by hidden widths
 * and slots.
 */
export const SHAPES = {
  '320-256x3': { hidden: [320, 256], slots: 3, counts: 3 },
  '340-192x4': { hidden: [340, 192], slots: 4, counts: 4 },
  '512-256x2': { hidden: [512, 256], slots: 2, counts: 5 },
  '256-256-256x3': { hidden: [256, 256, 256], slots: 3, counts: 3 },
} as const satisfies { [name: string]: DrafterShape };
export type ShapeName = keyof typeof SHAPES;
export const SHAPE_NAMES = Object.keys(SHAPES) as ShapeName[];
export const MOST_SLOTS = 8;

/** A named shape, with another number of slots where that is given (the head then has as many classes). */
export function shapeOf(name: ShapeName, slots?: number): DrafterShape {
  const shape: DrafterShape = SHAPES[name];
  if (slots === undefined || slots === shape.slots) return shape;
  if (!Number.isInteger(slots) || slots < 1 || slots > MOST_SLOTS) {
    throw new InputError(`--slots: got ${slots}, expected an integer from 1 to ${MOST_SLOTS}`);
  }
  return { hidden: shape.hidden, slots, counts: slots };
}

/**
 * The dense layers in the order of computation. The last one has the slots' corrections first, slot after slot, then the head's logits.
 */
export function layerSizes(shape: DrafterShape, dimensions: number): DenseLayer[] {
  return denseLayers([dimensions, ...shape.hidden, shape.slots * dimensions + shape.counts]);
}

export function parameterCount(shape: DrafterShape, dimensions: number): number {
  return parametersOf(layerSizes(shape, dimensions));
}
