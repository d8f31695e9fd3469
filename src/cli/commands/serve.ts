import { askClaims, heuristicClaims, parseClaims } from '../../../datasets/index.js';
import {
  type ClaimsOption,
  type GateOptions,
  type RunningService,
  type StartOptions,
  createGate,
  gateLogFile,
  loadServer,
  openDrafter,
  readProfile,
  sharedEncoder,
} from '../../../runtime/index.js';
import { InputError } from '../../core/errors.js';
import type { Command, CommandResult, Terminal } from '../command.js';
import { encoderOf } from '../encoder-flags.js';
import { liveDecider } from '../live-decider.js';
import { type OpenedModel, openModel } from '../llm-flags.js';
import { numberIn, wholeNumber } from '../number-flags.js';
import { profilePath } from '../profile-path.js';
import { type ServeFlags, refuseIdleFlags, serveOptions } from '../serve-flags.js';

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
  options: serveOptions,
  run: (args, terminal) => run(args as unknown as ServeFlags, terminal),
};

async function run(flags: ServeFlags, terminal: Terminal): Promise<CommandResult> {
  refuseIdleFlags(flags);
  const opened: { close(): Promise<void> }[] = [];
  const log = flags.log === undefined ? undefined : gateLogFile(flags.log);
  try {
    const server = await loadServer();
    // What is wrong with the address is said before models are loaded, and before the log has a line.
    const http = httpOptions(flags, server);
    const options = await gateOptions(flags, opened, terminal);
    const exporter = flags.otel ? await exporterOf(server, opened) : undefined;
    const running = await server.startService({
      ...http,
      gateOf: (sink) => createGate({ ...options, log: sink }),
      log,
      spans: exporter && server.gateSpans(exporter.provider),
      pages: flags.ui ? server.sessionPages : undefined,
    });
    say(running, flags, { terminal, local: server.isLoopback(flags.host) });
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

type HttpFlags = Pick<StartOptions, 'host' | 'port' | 'token' | 'allowedHosts' | 'bodyLimit' | 'requestsPerMinute' | 'limits'>;

function httpOptions(flags: ServeFlags, { checkAddress }: Awaited<ReturnType<typeof loadServer>>): HttpFlags {
  const token = tokenOf(flags);
  checkAddress(flags.host, token);
  return {
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
  };
}

async function gateOptions(flags: ServeFlags, opened: { close(): Promise<void> }[], terminal: Terminal): Promise<Omit<GateOptions, 'log'>> {
  const { mode, transfer, content, label, seed } = flags;
  const profile = flags.profile === undefined ? undefined : await readProfile(await profilePath(flags.profile));
  if (mode === 'enforce' && !profile)
    throw new InputError('--profile: expected one with --mode enforce; run in shadow first, and calibrate --from-log');
  if (flags['drift-fall-back'] && !profile?.first_margins)
    throw new InputError('--drift-fall-back: expected a profile that keeps its first margins; calibrate again');
  const encoder = sharedEncoder(await encoderOf(flags, profile?.encoder.name));
  opened.push(encoder);
  const drafter =
    flags.drafter === undefined
      ? undefined
      : await openDrafter(flags.drafter, { encoder: encoder.identity, warn: (text) => terminal.warn(text) });
  if (drafter) opened.push(drafter);
  // One for claims and judge: they share its budget.
  let asked: Promise<OpenedModel> | undefined;
  const languageModel = (): Promise<OpenedModel> =>
    (asked ??= openModel({ ...flags, concurrency: flags.concurrency ?? CONCURRENCY }, terminal).then((model) => {
      opened.push(model);
      return model;
    }));
  const decider = await liveDecider(flags, { encoder, languageModel, policy: profile?.policy ?? 'all_match', opened, terminal });
  const readsClaims = decider !== 'host' && decider.readsClaims;
  // A drafter that does not say what it learnt from is told by the claims' source.
  if (drafter && flags.claims !== undefined && !readsClaims && drafter.details.claim_source !== 'unstated')
    throw new InputError(`--claims: of no use with --drafter and --decider ${flags.decider}, which reads none`);
  const claims = await claimsOf(flags, languageModel);
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

async function claimsOf(flags: ServeFlags, languageModel: () => Promise<OpenedModel>): Promise<ClaimsOption | undefined> {
  const {
    claims = flags.drafter === undefined ? 'heuristic' : undefined,
    'claim-source': source = 'generated',
    'claim-text': text,
  } = flags;
  if (claims === undefined) return undefined;
  if (claims === 'client') return { source, text };
  if (claims === 'heuristic')
    return {
      source: 'heuristic',
      text,
      make: ({ id, question }) => Promise.resolve(heuristicClaims({ question_id: id, row: 0, question })),
    };
  const model = await languageModel();
  return {
    source: 'generated',
    text,
    make: async ({ question, signal }) => parseClaims((await askClaims(model, question, { signal })).text, question).claims,
  };
}

function tokenOf({ 'token-env': name }: ServeFlags): string | undefined {
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

function say(
  { http: { address }, service: { gate } }: RunningService,
  { mode, ui }: ServeFlags,
  { terminal, local }: { terminal: Terminal; local: boolean },
): void {
  terminal.print(`listening on ${address} (${mode})`);
  if (terminal.json) terminal.note(`listening on ${address} (${mode})`);
  if (ui) terminal.note(`pages at ${address}/ui`);
  const most = gate.worstCase({ claims: 1, sentences: 1 });
  if (most) terminal.note(`a question takes at most ${most.searches} searches and ${most.calls} decider calls`);
  if (!local) terminal.note('reachable from other machines: put TLS before it');
}

function seconds(name: string, value: number): number {
  return numberIn(name, value, [0.001, 10_000_000]) * 1000;
}

/** Requests to a language model at once, of all sessions, unless `--concurrency` says another number. */
const CONCURRENCY = 16;

/** Until Ctrl-C, or SIGTERM as supervisors send it. */
function ended(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener('abort', () => resolve(), { once: true });
    process.once('SIGTERM', () => resolve());
  });
}
