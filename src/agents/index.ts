export {
  type Agent,
  type AgentEnd,
  type AgentLoop,
  type AgentTools,
  DEFAULT_LOOPS,
  type LoopOptions,
  type QueryState,
  type SearchQuestion,
  queryAgent,
  searchLoops,
  searchQuestion,
} from './agent.js';
export { chainAgent, chainIdentity } from './chain.js';
export { FLARE_BETA, FLARE_LIMITS, type FlareOptions, draginAgent, flareAgent } from './flare.js';
export { type FollowUps, readFollowUps } from './follow-ups.js';
export { scriptedAgent, scriptedIdentity } from './scripted.js';
export { type SelfAskOptions, selfAskAgent } from './self-ask.js';
export { type QuestionSource, type RunCounts, type WriteRunOptions, writeRun } from './write-run.js';
