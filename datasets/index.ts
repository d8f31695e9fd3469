export { detectDataset } from './detect.js';
export { ID_SOURCES, type IdSource, type OpenedRecords, type OpenOptions, openRecords } from './open-records.js';
export { type Quarantine, type QuarantineEntry, SKIP_REASONS, makeQuarantine } from './quarantine.js';
