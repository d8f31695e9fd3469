export { type ImportOptions, type Imported, ParityFailedError, importVerifier } from './import.js';
export { DEFAULT_TOLERANCES, type GateScorer, type ParityTolerances, type Tolerance, parityGate } from './parity.js';
export { type BaseShape, baseShape } from './base-shape.js';
export { type GpuAssumptions, estimateRun } from './estimate.js';
export { type PlanOptions, type Planned, planHead, planVerifier } from './plan-verifier.js';
export { FAULTS, type Fault, type FaultName, preflight, refuseFaults } from './preflight.js';
export { type GivenSettings, VERIFIER_DEFAULTS, settingsOf } from './settings.js';
export { type ShownRow, rowText, shownRows } from './show-rows.js';
