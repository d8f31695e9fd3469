import { askClaims, heuristicClaims, parseClaims } from '../../../datasets/index.js';
import {
  type ClaimsOption,
  type GateOptions,
  type HttpServer,
  createGate,
  gateLogFile,
  loadServer,
  openDrafter,
  readProfile,
  sharedEncoder,
} from '../../../runtime/index.js';
import { CLAIM_SOURCES, CLAIM_TEXTS, type ClaimSource, type ClaimText } from '../../core/claims.js';
import { InputError } from '../../core/errors.js';
import { GATE_MODES, type GateMode } from '../../core/gate-log.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { judgeOptions } from '../decider-flags.js';
import { type EncoderFlags, encoderOf, encoderOptions } from '../encoder-flags.js';
import { LIVE_DECIDERS, type LiveDeciderFlags, liveDecider } from '../live-decider.js';
import { llmOptions, openModel } from '../llm-flags.js';
import { numberIn, wholeNumber } from '../number-flags.js';
import { profilePath } from '../profile-path.js';
import { verifierOptions } from '../verifier-flags.js';

interface Flags extends CommonFlags, EncoderFlags, Omit<LiveDeciderFlags, keyof EncoderFlags> {
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

export const serve: Command = {
  path: 'serve',
  describe: 'the gate as an HTTP service for agents in any language',
  ignores: {
    out: 'the service writes no folder; --log names its file',
    resume: 'a restarted service knows no session',
    force: 'the log is appended to',
  },
  epilogue:
    'Any address but loopback needs a token, in the environment variable HOPGATE_TOKEN. /openapi.json describes the requests, /metrics is for Prometheus. ' +
    'SIGTERM and Ctrl-C end it: what runs is answered first.',
  options: {
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
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const token = tokenOf(flags);
  const opened: { close(): Promise<void> }[] = [];
  const log = flags.log === undefined ? undefined : gateLogFile(flags.log);
  try {
    const options = await gateOptions(flags, opened, terminal);
    const server = await loadServer();
    const exporter = flags.otel ? await exporterOf(server, opened) : undefined;
    const running = await server.startService({
      gateOf: (sink) => createGate({ ...options, log: sink }),
      log,
      spans: exporter && server.gateSpans(exporter.provider),
      pages: flags.ui ? server.sessionPages : undefined,
      host: flags.host,
      port: wholeNumber('port', flags.port, 0),
      token,
      allowedHosts: flags['allowed-host'],
      bodyLimit: wholeNumber('body-limit', flags['body-limit'], 1024),
      requestsPerMinute: flags.rate === 0 ? null : wholeNumber('rate', flags.rate),
      limits: {
        maxSessions: wholeNumber('max-sessions', flags['max-sessions']),
        idleMillis: seconds('session-idle', flags['session-idle']),
        lifeMillis: seconds('session-life', flags['session-life']),
      },
    });
    say(running.http, flags, terminal);
    await ended(terminal.signal);
    terminal.note('shutting down: what runs is answered first');
    await running.close();
    const lost = log?.lost.events ?? 0;
    return {
      out: null,
      counts: { lost_events: lost },
      quarantined: {},
      warnings: lost > 0 ? [`${lost} events could not be written to the log: ${log?.lost.reason}`] : [],
      address: running.http.address,
    };
  } finally {
    for (const one of opened.toReversed()) await one.close();
    log?.close();
  }
}

async function gateOptions(flags: Flags, opened: { close(): Promise<void> }[], terminal: Terminal): Promise<Omit<GateOptions, 'log'>> {
  const { mode, transfer, content, label, seed } = flags;
  const profile = flags.profile === undefined ? undefined : await readProfile(await profilePath(flags.profile));
  if (mode === 'enforce' && !profile)
    throw new InputError('--profile: expected one with --mode enforce; run in shadow first, and calibrate --from-log');
  const encoder = sharedEncoder(await encoderOf(flags, profile?.encoder.name));
  opened.push(encoder);
  const drafter =
    flags.drafter === undefined
      ? undefined
      : await openDrafter(flags.drafter, { encoder: encoder.identity, warn: (text) => terminal.warn(text) });
  if (drafter) opened.push(drafter);
  const decider = await liveDecider(flags, { encoder, policy: profile?.policy ?? 'all_match', opened, terminal });
  const claims = await claimsOf(flags, opened, terminal);
  const audit = { skips: flags['audit-skips'], questions: flags['audit-questions'] };
  return {
    encoder,
    drafter,
    claims,
    profile,
    transfer,
    decider,
    mode,
    bounds: {
      maxSteps: wholeNumber('steps', flags.steps),
      maxCalls: flags['decider-calls'] === undefined ? null : wholeNumber('decider-calls', flags['decider-calls']),
      maxTokens: flags['question-tokens'] === undefined ? null : wholeNumber('question-tokens', flags['question-tokens']),
      maxMillis: flags['question-seconds'] === undefined ? null : seconds('question-seconds', flags['question-seconds']),
      noProgress: wholeNumber('idle-searches', flags['idle-searches']),
    },
    onError: flags['on-error'],
    deciderTimeout: seconds('decider-timeout', flags['decider-timeout']),
    ...(audit.skips !== undefined || audit.questions !== undefined ? { audit } : {}),
    forceContinue: flags['force-continue'],
    ...(profile?.first_margins && {
      drift: {
        fallBack: flags['drift-fall-back'],
        onAlarm: ({ questions }: { questions: number }) =>
          terminal.warn(
            `drift: after ${questions} questions their first margins are no longer like the profile's; calibrate on this traffic`,
          ),
      },
    }),
    content,
    label,
    seed,
  };
}

async function claimsOf(flags: Flags, opened: { close(): Promise<void> }[], terminal: Terminal): Promise<ClaimsOption | undefined> {
  const {
    claims = flags.drafter === undefined ? 'heuristic' : undefined,
    'claim-source': source = 'generated',
    'claim-text': text,
  } = flags;
  if (claims === undefined) return undefined;
  if (claims === 'client') return { source, text };
  if (flags['claim-source'] !== undefined) throw new InputError(`--claim-source: of no use with --claims ${claims}`);
  if (claims === 'heuristic')
    return {
      source: 'heuristic',
      text,
      make: ({ id, question }) => Promise.resolve(heuristicClaims({ question_id: id, row: 0, question })),
    };
  const model = await openModel(flags, terminal);
  opened.push(model);
  return {
    source: 'generated',
    text,
    make: async ({ question, signal }) => parseClaims((await askClaims(model, question, { signal })).text, question).claims,
  };
}

function tokenOf({ 'token-env': name }: Flags): string | undefined {
  const token = process.env[name];
  if (token === undefined || token === '') return undefined;
  if (/\s/.test(token)) throw new InputError(`${name}: the token holds white space, expected a word`);
  return token;
}

async function exporterOf(
  server: Awaited<ReturnType<typeof loadServer>>,
  opened: { close(): Promise<void> }[],
): Promise<{ provider: Parameters<typeof server.gateSpans>[0] }> {
  try {
    const exporter = await server.otlpExporter((name) => import(name));
    opened.push(exporter);
    return exporter;
  } catch (error) {
    throw new InputError(
      `--otel: expected the packages @opentelemetry/sdk-trace-base and @opentelemetry/exporter-trace-otlp-http (npm install them beside hopgate): ${(error as Error).message}`,
    );
  }
}

function say({ address }: HttpServer, { mode, host, ui }: Flags, terminal: Terminal): void {
  terminal.print(`listening on ${address} (${mode})`);
  if (terminal.json) terminal.note(`listening on ${address} (${mode})`);
  if (ui) terminal.note(`pages at ${address}/ui`);
  if (host !== '127.0.0.1' && host !== 'localhost') terminal.note('reachable from other machines: put TLS before it');
}

function seconds(name: string, value: number): number {
  return numberIn(name, value, [0.001, 10_000_000]) * 1000;
}

/** Until Ctrl-C, or SIGTERM as supervisors send it. */
function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    process.once('SIGTERM', () => resolve());
  });
}
