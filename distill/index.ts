export { type BaselineQuality, type DraftQuality, baselineQuality, collapsed, draftQuality } from './draft-quality.js';
export { type DrafterModel, parameterTensors } from './drafter-model.js';
export { type Checkpoints, type FitProgress } from './checkpoint.js';
export { type Examples, chosenExamples, heldOutSplit } from './examples.js';
export { drafterOnnx, drafterParameters, drafterSafetensors } from './export.js';
export { type FitHooks, type FitOptions, type FittedDrafter, fitDrafter } from './fit.js';
export { type DrafterShape, MOST_SLOTS, SHAPES, SHAPE_NAMES, type ShapeName, parameterCount, shapeOf } from './shape.js';
export { MATCHINGS, type Matching } from './slot-matching.js';
export { BACKENDS, type Backend, type BackendChoice, type OpenedTensorFlow, openTensorFlow } from './tensorflow.js';
