import type { Options } from 'yargs';
import { HYPOTHESES } from '../../runtime/index.js';
import { CLAIM_SOURCES, CLAIM_TEXTS, type ClaimSource, type ClaimText } from '../core/claims.js';
import { InputError } from '../core/errors.js';
import { GATE_MODES, type GateMode } from '../core/gate-log.js';
import type { CommonFlags } from './command.js';
import { judgeOptions } from './decider-flags.js';
import { type EncoderFlags, encoderOptions } from './encoder-flags.js';
import { LIVE_DECIDERS, type LiveDeciderFlags, type LiveDeciderName } from './live-decider.js';
import { llmOptions, modelFlags } from './llm-flags.js';
import { verifierOptions } from './verifier-flags.js';

/** Flags of `serve`. */
export interface ServeFlags extends CommonFlags, EncoderFlags, Omit<LiveDeciderFlags, keyof EncoderFlags> {
  profile?: string;
  drafter?: string;
  claims?: 'heuristic' | 'generated' | 'client';
  'claim-source'?: ClaimSource;
  'claim-text'?: ClaimText;
  mode: GateMode;
  transfer: boolean;
  steps: number;
  'decider-calls'?: number;
  'question-tokens'?: number;
  'question-seconds'?: number;
  'idle-searches': number;
  'on-error': 'continue' | 'stop' | 'throw';
  'decider-timeout': number;
  'audit-skips'?: number;
  'audit-questions'?: number;
  'force-continue': boolean;
  'drift-fall-back': boolean;
  log?: string;
  content: boolean;
  label?: string;
  ui: boolean;
  host: string;
  port: number;
  'token-env': string;
  'allowed-host'?: string[];
  'max-sessions': number;
  'session-idle': number;
  'session-life': number;
  'body-limit': number;
  rate: number;
  otel: boolean;
}

export const serveOptions = {
  profile: { type: 'string', describe: 'profile.json, or the folder of a calibration; without one only --mode shadow' },
  mode: {
    choices: GATE_MODES,
    default: 'shadow',
    describe: 'shadow: the decider is always asked and the log says what would have been skipped',
  },
  transfer: {
    type: 'boolean',
    default: false,
    describe: 'apply the profile although decider, claims or splitter differ, and say so in the log',
  },
  decider: { choices: LIVE_DECIDERS, default: 'host', describe: 'host: the agent asks its own, and hands the verdict in' },
  model: { type: 'string', describe: "folder of the decider's model, or a verifier by name" },
  threshold: { type: 'number', describe: 'judge, nli, stoprag, simrag: from which probability on it covers (default 0.5)' },
  ...judgeOptions,
  'judge-reads': { ...judgeOptions['judge-reads'], describe: 'judge: what stands for the evidence (default: the retrieved sentences)' },
  hypothesis: { choices: HYPOTHESES, describe: 'nli: what is made of a claim (default: a sentence of title and target)' },
  drafter: { type: 'string', describe: 'folder of a drafter, whose slots make the margin in place of claims' },
  claims: {
    choices: ['heuristic', 'generated', 'client'],
    describe: 'where claims come from: the question’s words, --llm, or each request that opens a question (default: heuristic)',
  },
  'claim-source': { choices: CLAIM_SOURCES, describe: 'client: what its claims are called (default generated)' },
  'claim-text': { choices: CLAIM_TEXTS, describe: "which text of a claim makes the margin (default: the profile's)" },
  steps: { type: 'number', default: 6, describe: 'searches of a question at most' },
  'decider-calls': { type: 'number', describe: 'decider calls of a question at most' },
  'question-tokens': { type: 'number', describe: 'tokens of a question at most: what the agent reports and what the decider takes' },
  'question-seconds': { type: 'number', describe: 'seconds of a question at most' },
  'idle-searches': { type: 'number', default: 3, describe: 'searches in a row without a new sentence that end a question' },
  'on-error': { choices: ['continue', 'stop', 'throw'], default: 'continue', describe: 'what a failing decider does to a question' },
  'decider-timeout': { type: 'number', default: 60, describe: 'seconds that one call may take' },
  'audit-skips': { type: 'number', describe: 'enforce: share of skips that are called all the same (default 0.02)' },
  'audit-questions': { type: 'number', describe: 'enforce: share of questions that stay in shadow (default 0.01)' },
  'force-continue': { type: 'boolean', default: false, describe: 'an agent that ends before coverage is told to go on' },
  'drift-fall-back': { type: 'boolean', default: false, describe: "after drift's alarm every skip is called" },
  log: { type: 'string', describe: 'file that the events are appended to (calibrate --from-log, report --from-log)' },
  content: { type: 'boolean', default: false, describe: 'log questions, queries and sentences too' },
  label: { type: 'string', describe: 'what this traffic is called in the log' },
  ui: {
    type: 'boolean',
    default: false,
    describe: 'pages at /ui: the last 200 questions step by step (with --content, their texts); a token covers them too',
  },
  host: { type: 'string', default: '127.0.0.1', describe: 'address to listen on' },
  port: { type: 'number', default: 8787, describe: '0: a free one' },
  'token-env': { type: 'string', default: 'HOPGATE_TOKEN', describe: 'environment variable with the token that clients have to send' },
  'allowed-host': { type: 'string', array: true, nargs: 1, describe: 'on loopback: another name it may be asked by; may be given again' },
  'max-sessions': { type: 'number', default: 10_000, describe: 'questions open at once' },
  'session-idle': { type: 'number', default: 900, describe: 'seconds without a request after which a question expires' },
  'session-life': { type: 'number', default: 3600, describe: 'seconds after which it expires in any case' },
  'body-limit': { type: 'number', default: 4 * 1024 * 1024, describe: 'bytes of a request at most' },
  rate: { type: 'number', default: 6000, describe: 'requests a minute and client at most; 0: no limit' },
  otel: { type: 'boolean', default: false, describe: 'send OpenTelemetry spans (OTEL_EXPORTER_OTLP_ENDPOINT); needs its two packages' },
  ...encoderOptions,
  ...verifierOptions,
  ...llmOptions,
} as const satisfies { [name: string]: Options };

/** Which deciders have a use for a flag that is one of a decider's. */
const OWNERS: readonly (readonly [flags: readonly (keyof ServeFlags)[], deciders: readonly LiveDeciderName[]])[] = [
  [['model'], ['small', 'verifier', 'nli', 'stoprag', 'simrag']],
  [['threshold'], ['judge', 'nli', 'stoprag', 'simrag']],
  [['judge-reads', 'allow-wrong-polarity'], ['judge']],
  [['hypothesis'], ['nli']],
  [
    ['provider', 'threads'],
    ['verifier', 'nli', 'stoprag', 'simrag'],
  ],
  [['variant', 'max-tokens', 'server', 'server-model', 'api-key-env', 'timeout', 'tolerance'], ['verifier']],
];

/** Throws InputError for a flag that would be of no effect: a service that ignores one runs with other settings than it was told. */
export function refuseIdleFlags(flags: ServeFlags): void {
  const { decider, claims } = flags;
  for (const [names, deciders] of OWNERS) {
    const idle = deciders.includes(decider) ? undefined : names.find((name) => flags[name] !== undefined);
    if (idle !== undefined) throw new InputError(`--${idle}: of no use with --decider ${decider}`);
  }
  const asked = modelFlags.find((name) => flags[name] !== undefined);
  if (asked !== undefined && decider !== 'judge' && claims !== 'generated')
    throw new InputError(`--${asked}: of no use without --decider judge or --claims generated`);
  if (flags['claim-source'] !== undefined && claims !== 'client') throw new InputError('--claim-source: of no use without --claims client');
  if (flags.transfer && flags.profile === undefined) throw new InputError('--transfer: of no use without --profile');
  if (flags.content && flags.log === undefined && !flags.ui && !flags.otel)
    throw new InputError('--content: of no use without --log, --ui or --otel');
  if (flags['claim-text'] !== undefined && flags.drafter !== undefined) throw new InputError('--claim-text: of no use with --drafter');
  if (flags.mode === 'shadow') {
    const audit = (['audit-skips', 'audit-questions'] as const).find((name) => flags[name] !== undefined);
    if (audit !== undefined) throw new InputError(`--${audit}: of no use with --mode shadow, where every loop is called`);
    if (flags['drift-fall-back']) throw new InputError('--drift-fall-back: of no use with --mode shadow, where every loop is called');
  }
}
