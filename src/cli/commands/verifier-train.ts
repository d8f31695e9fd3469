import { resolve } from 'node:path';
import { InputError } from '../../core/errors.js';
import {
  type Bundle,
  LAUNCHERS,
  type LaunchOptions,
  type Launched,
  type LauncherName,
  type TrainerLine,
  type Training,
  follow,
  launch,
  launchableJob,
  launchedJob,
  nextStep,
  writeBundle,
} from '../../../train/index.js';
import type { Command, CommandResult, CommonFlags, Progress, Terminal } from '../command.js';
import { wholeNumber } from '../number-flags.js';

export const verifierTrain: Command = {
  path: 'verifier train <job>',
  describe: 'trains a planned verifier: here, on a Ray cluster, or packed for any machine',
  epilogue:
    'JOB is a folder of `verifier plan`. The job outlives this command: after a kill or --detach the same command follows it again. On a ' +
    'cluster, RAY_AUTH_TOKEN (or RAY_JOB_HEADERS, a JSON object) proves who asks. Only a --storage that both sides see carries large exports quickly.',
  positionals: { job: 'job folder' },
  options: {
    launcher: {
      choices: LAUNCHERS,
      describe: 'where it runs; bundle writes one archive to --out; default: as launched before, else local',
    },
    python: { type: 'string', describe: 'interpreter that has the packages; default: an environment that run.sh makes' },
    address: { type: 'string', describe: "Ray's dashboard, http://HOST:8265; default: as launched before, else $RAY_API_SERVER_ADDRESS" },
    storage: { type: 'string', describe: 'folder that cluster and this machine share: checkpoints and export are written there' },
    gpus: { type: 'number', describe: 'graphics processors that Ray reserves for the job' },
    detach: { type: 'boolean', default: false, describe: 'start it and do not wait' },
    attach: { type: 'string', describe: 'id of a job to follow, instead of starting one' },
    status: { type: 'boolean', default: false, describe: 'only say how the job stands' },
    stop: { type: 'boolean', default: false, describe: 'end the job' },
    'on-interrupt': { choices: ['stop', 'leave'], default: 'stop', describe: 'what Ctrl-C does to the job' },
  },
  ignores: { seed: "the job's seed stands in its plan" },
  run: async (args, terminal) => {
    const dir = args.job as string;
    const chosen = ['detach', 'status', 'stop'].filter((name) => args[name] === true);
    if (chosen.length > 1) throw new InputError(`--${chosen[0]} and --${chosen[1]} exclude each other`);
    if (args.launcher === 'bundle') return bundle(dir, args, terminal);
    const options: LaunchOptions = {
      launcher: args.launcher as Exclude<LauncherName, 'bundle'> | undefined,
      out: args.out,
      python: args.python as string | undefined,
      address: args.address as string | undefined,
      storage: args.storage as string | undefined,
      gpus: args.gpus === undefined ? undefined : wholeNumber('gpus', args.gpus),
      attach: args.attach as string | undefined,
      resume: args.resume,
      force: args.force,
      environment: process.env,
    };
    if (args.status === true || args.stop === true) return standing(await launchedJob(dir, options), args.stop === true, terminal);
    const launched = await launch(dir, options);
    const where = launched.address ?? 'this machine';
    terminal.note(`job ${launched.handle.id} ${launched.attached ? 'found' : 'started'} (${where})`);
    if (args.detach !== true) return finished(launched, { dir, onInterrupt: args['on-interrupt'] as 'stop' | 'leave', terminal });
    terminal.print(`${launched.handle.id}\nthe same command without --detach follows it; --status says how it stands, --stop ends it`);
    return resultOf(launched, (await launched.handle.status()).state);
  },
};

async function standing(launched: Launched, stop: boolean, terminal: Terminal): Promise<CommandResult> {
  const yet = stop ? await launched.handle.stop() : null;
  const { state, message } = await launched.handle.status();
  terminal.print(`${launched.handle.id} ${state}${message === null ? '' : `: ${message}`}`);
  return { ...resultOf(launched, state), warnings: yet === null ? [] : [`not stopped yet: ${yet}`] };
}

async function finished(
  launched: Launched,
  { dir, onInterrupt, terminal }: { dir: string; onInterrupt: 'stop' | 'leave'; terminal: Terminal },
): Promise<CommandResult> {
  const steps = terminal.progress('train', { lines: true });
  let fetching: Progress | undefined;
  const warnings: string[] = [];
  try {
    const { training, made } = await follow(launched, {
      signal: terminal.signal,
      onInterrupt,
      onLine: (line, so) => showLine(line, so, { terminal, steps }),
      onStatus: ({ state, message }) => {
        if (state === 'pending') terminal.note(`job ${launched.handle.id} waits${message === null ? '' : `: ${message}`}`);
      },
      onFetch: (done, total) => {
        steps.done();
        fetching ??= terminal.progress('fetch (bytes)');
        fetching.update(done, total);
      },
      onWarning: (warning) => warnings.push(warning),
      onLeft: (sentence) => process.stderr.write(`hopgate: ${sentence}\n`),
    });
    steps.done();
    fetching?.done();
    const { dev, steps: taken, train_rows: rows } = made.metrics;
    terminal.print(
      `${rows} rows, ${taken} steps; ${dev.rows} dev rows: macro-F1 ${figure(dev.macro_f1)}, accuracy ${figure(dev.accuracy)}`,
    );
    await printNext(dir, launched.out, terminal);
    terminal.print(launched.out);
    const bytes = made.files.reduce((sum, file) => sum + file.bytes, 0);
    return {
      ...resultOf(launched, 'succeeded'),
      counts: { train_rows: rows, steps: taken, dev_rows: dev.rows, files: made.files.length, bytes },
      warnings: [...training.warnings, ...warnings],
      dev,
    };
  } finally {
    steps.done();
    fetching?.done();
  }
}

function showLine(line: TrainerLine, training: Training, { terminal, steps }: { terminal: Terminal; steps: Progress }): void {
  if ('text' in line) {
    process.stderr.write(`${line.text}\n`);
    return;
  }
  const { event } = line;
  if (event.event === 'step') steps.update(event.step, event.of);
  else if (event.event === 'stage') terminal.note(`${event.name}${training.step === undefined ? '' : ` (after step ${training.step})`}`);
  else if (event.event === 'warning') terminal.note(`trainer: ${event.message}`);
}

async function bundle(dir: string, args: { [name: string]: unknown } & CommonFlags, terminal: Terminal): Promise<CommandResult> {
  const job = await launchableJob(dir);
  const made = await writeBundle(job, args.out ?? `${resolve(dir)}.zip`);
  const lines: [keyof Bundle['commands'], string][] = [
    ['plain', 'a machine with a GPU'],
    ['slurm', 'a Slurm cluster'],
    ['notebook', 'a notebook that has the packages'],
  ];
  for (const [name, where] of lines) terminal.print(`${where}:\n    ${made.commands[name]}`);
  await printNext(dir, 'EXPORT', terminal);
  terminal.print(made.file);
  return { out: made.file, counts: { files: job.files.length, bytes: made.bytes }, quarantined: {}, warnings: [], ...made };
}

async function printNext(job: string, exported: string, terminal: Terminal): Promise<void> {
  const command = await nextStep(job, exported);
  if (command !== null) terminal.print(`then: ${command}`);
}

function resultOf({ handle, launcher, address, attached, out }: Launched, state: string): CommandResult {
  return { out, counts: {}, quarantined: {}, warnings: [], job: { id: handle.id, launcher, address, state, attached } };
}

function figure(value: number | null): string {
  return value === null ? '–' : value.toFixed(3);
}
