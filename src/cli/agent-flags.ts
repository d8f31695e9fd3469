import {
  type Agent,
  DEFAULT_LOOPS,
  FLARE_BETA,
  FLARE_LIMITS,
  type FollowUps,
  chainAgent,
  draginAgent,
  flareAgent,
  readFollowUps,
  scriptedAgent,
  scriptedIdentity,
  selfAskAgent,
} from '../agents/index.js';
import { InputError } from '../core/errors.js';
import type { Json } from '../core/manifest.js';
import type { HopRecord } from '../core/records.js';
import type { CommonFlags, Terminal } from './command.js';
import { type LlmFlags, type OpenedModel, llmOptions, openModel, refuseModelFlags } from './llm-flags.js';
import { numberIn, type RowRange, wholeNumber } from './number-flags.js';

export const AGENTS = ['scripted', 'chain', 'self-ask', 'flare', 'dragin'] as const;
export type AgentName = (typeof AGENTS)[number];

/** Flags that choose who searches. */
export interface AgentFlags extends LlmFlags {
  agent: AgentName;
  followups?: string;
  'force-continue'?: boolean;
  beta?: number;
  budget?: number;
}

/** Loops at most where `--budget` says nothing: FLARE retrieves at most once a sentence. */
const BUDGETS: { readonly [name in AgentName]: number } = {
  scripted: DEFAULT_LOOPS.budget,
  chain: DEFAULT_LOOPS.budget,
  'self-ask': DEFAULT_LOOPS.budget,
  flare: FLARE_LIMITS.sentences,
  dragin: FLARE_LIMITS.sentences,
};

export const agentOptions = {
  agent: {
    choices: AGENTS,
    demandOption: true,
    describe:
      'scripted: the question, then --followups; chain: the question, then expanded; self-ask, flare, dragin (approximate): by the model of --llm',
  },
  followups: { type: 'string', describe: 'JSON lines {question_id, followups[]} for --agent scripted' },
  'force-continue': { type: 'boolean', describe: 'self-ask: told to go on where it would stop by itself, until the budget' },
  beta: {
    type: 'number',
    describe: `flare, dragin: a token below this probability makes its sentence a query (default ${FLARE_BETA.flare}, dragin ${FLARE_BETA.dragin})`,
  },
  budget: {
    type: 'number',
    describe: `loops at most (default ${DEFAULT_LOOPS.budget}; flare and dragin ${FLARE_LIMITS.sentences}, one a sentence)`,
  },
  ...llmOptions,
} as const;

/** Who searches, question by question. */
export interface OpenedAgent {
  budget: number;
  identity: Json;
  /** What the manifest keeps of the flags. */
  options: { [name: string]: Json };
  inputs: string[];
  /** Of an agent that has one; the caller closes it. */
  model: OpenedModel | undefined;
  /** Checks that the agent can work at all, before the first question. Throws InputError. */
  prepare(signal: AbortSignal): Promise<void>;
  agentFor: (record: HopRecord) => Agent | null;
  /** Counts and warnings once all records are read. */
  summary: () => { counts: { [name: string]: number }; warnings: string[] };
  /** Why not one question was left to run. */
  nothing: () => string;
}

/** Opens the agent that the flags name. Throws InputError for flags that it has no use for. */
export async function agentOf(
  flags: AgentFlags & CommonFlags,
  rows: RowRange,
  { dir, terminal }: { dir: string; terminal: Terminal },
): Promise<OpenedAgent> {
  const { agent: name, followups: file, 'force-continue': force, beta: givenBeta } = flags;
  const asksModel = name !== 'scripted' && name !== 'chain';
  const budget = wholeNumber('budget', flags.budget ?? BUDGETS[name]);
  if (name === 'scripted' && file === undefined) throw new InputError('--followups: expected a file of follow-ups for --agent scripted');
  const idle = Object.entries({
    followups: file !== undefined && name !== 'scripted',
    'force-continue': force !== undefined && name !== 'self-ask',
    beta: givenBeta !== undefined && name !== 'flare' && name !== 'dragin',
  }).find(([, given]) => given);
  if (idle) throw new InputError(`--${idle[0]}: of no use with --agent ${name}`);
  // Searches over a corpus are under way several at once, whoever asks.
  if (!asksModel) refuseModelFlags(flags, `with --agent ${name}`, { but: ['concurrency'] });
  if (!asksModel) return withoutModel(name, file === undefined ? undefined : await readFollowUps(file), { budget, file, rows });

  const beta = givenBeta === undefined ? undefined : numberIn('beta', givenBeta, [Number.MIN_VALUE, 1]);
  const model = await openModel(flags, terminal, { dir });
  const agent =
    name === 'self-ask' ? selfAskAgent(model, { forceContinue: force }) : (name === 'flare' ? flareAgent : draginAgent)(model, { beta });
  let asked = 0;
  return {
    budget,
    identity: agent.identity,
    options: { identity: agent.identity },
    inputs: [],
    model,
    prepare: (signal) => agent.prepare?.(signal) ?? Promise.resolve(),
    agentFor: ({ row }) => {
      if (row < rows.from || row >= rows.to) return null;
      asked++;
      return agent;
    },
    summary: () => ({ counts: { asked }, warnings: [] }),
    nothing: () => 'no usable record in --rows',
  };
}

function withoutModel(
  name: string,
  followUps: FollowUps | undefined,
  { budget, file, rows }: { budget: number; file: string | undefined; rows: RowRange },
): OpenedAgent {
  const chain = chainAgent();
  const matched = new Set<string>();
  let [asked, without] = [0, 0];
  const unmatched = (): number => (followUps?.byQuestion.size ?? 0) - matched.size;
  return {
    budget,
    identity: name === 'chain' ? chain.identity : { ...scriptedIdentity, followup_sources: followUps?.sources ?? [] },
    options: {},
    inputs: file === undefined ? [] : [file],
    model: undefined,
    prepare: () => Promise.resolve(),
    agentFor: (record) => {
      const queries = followUps?.byQuestion.get(record.question_id);
      // Rows outside --rows count as matched: their follow-ups are no mistake.
      if (queries) matched.add(record.question_id);
      if (record.row < rows.from || record.row >= rows.to) return null;
      asked++;
      if (!followUps) return chain;
      // A trajectory of one loop would agree with every policy by construction.
      if (queries === undefined || queries.length === 0) {
        without++;
        return null;
      }
      return scriptedAgent(queries);
    },
    summary: () => {
      if (!followUps) return { counts: { asked }, warnings: [] };
      const warnings: string[] = [];
      if (unmatched() > 0)
        warnings.push(`${unmatched()} of ${followUps.byQuestion.size} questions of the follow-up file are not in the dataset file`);
      return { counts: { asked, without_follow_ups: without, unmatched_follow_ups: unmatched() }, warnings };
    },
    nothing: () =>
      asked === 0 ? 'no usable record in --rows' : `none of the ${asked} questions has follow-ups in the file of --followups`,
  };
}
