export { type ImportOptions, type Imported, ParityFailedError, importVerifier } from './import.js';
export { DEFAULT_TOLERANCES, type GateScorer, type ParityTolerances, type Tolerance, parityGate } from './parity.js';
