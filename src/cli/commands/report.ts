import { join, resolve } from 'node:path';
import { InputError } from '../../core/errors.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { buildReport, readReportSources } from '../../evaluate/index.js';
import { type LogReportFlags, logReport } from '../log-report.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';

interface Flags extends CommonFlags, Partial<Omit<LogReportFlags, 'title' | keyof CommonFlags>> {
  dir: string[];
  title: string;
}

export const report: Command = {
  path: 'report [dir..]',
  describe: 'one self-contained HTML page of calibrations and replays, or of gate logs, with their figures as JSON beside it',
  epilogue:
    'Each DIR is a finished folder of calibrate or replay, or holds such folders. The page goes to --out (default: DIR/report). ' +
    'With --from-log the page is about what a gate logged: agreement and call cut of its shadow questions, audited skips, drift, times, break-even.',
  positionals: { dir: 'folders of results' },
  options: {
    title: { type: 'string', default: 'hopgate report', describe: 'heading of the page' },
    'from-log': { type: 'string', array: true, describe: 'gate logs (JSON lines) instead of result folders' },
    'dataset-names': {
      type: 'string',
      describe: "names of the logs' traffic, with commas (default: the label in the log, else its file's name)",
    },
    profile: {
      type: 'string',
      describe: 'with --from-log: profile whose τ and first margins the log is compared with (default: the τ in the log)',
    },
    'drift-alpha': { type: 'number', describe: 'with --from-log: probability of a false alarm of the drift test (default 0.01)' },
    resamples: { type: 'number', describe: 'with --from-log: of the paired bootstrap (default 10,000)' },
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const { 'from-log': logs } = flags;
  if (logs !== undefined) {
    if (flags.dir.length > 0) throw new InputError('--from-log: expected logs or result folders, not both');
    return logReport({ ...flags, 'from-log': logs }, terminal);
  }
  if (flags.dir.length === 0) throw new InputError('expected result folders, or gate logs with --from-log');
  for (const name of ['dataset-names', 'profile', 'drift-alpha', 'resamples'] as const)
    if (flags[name] !== undefined) throw new InputError(`--${name}: is about the logs of --from-log, and none is given`);
  const sources = await readReportSources(flags.dir);
  const dir = flags.out ?? join(flags.dir[0] as string, 'report');
  const counts = { calibrations: sources.calibrations.length, replays: sources.replays.length };
  const { resume, force, seed } = flags;
  const options = { title: flags.title };
  const out = await openOutputFolder({ dir, kind: 'report', command: 'report', options, seed, inputs: sources.inputs, resume, force });
  if (!out.finished) {
    const { html, json } = await buildReport(flags.title, sources);
    await out.file('report.html', html);
    await out.file('report.json', `${JSON.stringify(json, null, 2)}\n`);
    await out.finish({ counts });
  }
  const page = resolve(dir, 'report.html');
  terminal.print(page);
  return { out: dir, counts, quarantined: {}, warnings: [], page };
}
