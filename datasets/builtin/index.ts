export { makeBuiltinData, type BuiltinData } from './make.js';
export { writeBuiltinData, type BuiltinPaths } from './write.js';
export type { FollowupRow } from './followups.js';
export type { HotpotRecord } from './hotpotqa.js';
export type { MusiqueRecord } from './musique.js';
export type { TwoWikiRecord, TwoWikiType } from './two-wiki.js';
