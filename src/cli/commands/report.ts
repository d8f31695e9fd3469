import { join, resolve } from 'node:path';
import { openOutputFolder } from '../../core/output-folder.js';
import { buildReport, readReportSources } from '../../evaluate/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';

interface Flags extends CommonFlags {
  dir: string[];
  title: string;
}

export const report: Command = {
  path: 'report <dir..>',
  describe: 'one self-contained HTML page of calibrations and replays, with their figures as JSON beside it',
  epilogue: 'Each DIR is a finished folder of calibrate or replay, or holds such folders. The page goes to --out (default: DIR/report).',
  positionals: { dir: 'folders of results' },
  options: { title: { type: 'string', default: 'hopgate report', describe: 'heading of the page' } },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
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
