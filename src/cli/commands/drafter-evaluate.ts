import { join } from 'node:path';
import { type FrontierEntry, beatsBaselines, drafterDetails } from '../../core/drafter.js';
import { InputError } from '../../core/errors.js';
import { MANIFEST_NAME, type Manifest, readManifest } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { FRONTIER_AGREEMENT, draftedStandIn, drafterFrontier, storedMeanClaims } from '../../evaluate/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { frontierWords } from '../frontier-words.js';
import { numberIn } from '../number-flags.js';
import { type RunFlags, manifestsOf, runOptions, sourcesOf, storedSources } from '../run-flags.js';

interface Flags extends CommonFlags, Omit<RunFlags, 'drafter'> {
  drafter: string;
  agreement: number;
}

const { decider, claims, encoder, drafter: _replaced, ...others } = runOptions;

export const drafterEvaluate: Command = {
  path: 'drafter evaluate <drafter> <run..>',
  describe: "a drafter's call cut on runs, beside claim text and its two baselines",
  epilogue:
    'Each RUN is a finished run with claims, embeddings (of its questions too) and verdicts beside it. Questions that the drafter was trained on, or that chose its epoch, are left out and counted. ' +
    'Writes evaluation.json where --out names a folder.',
  positionals: { drafter: 'folder of a drafter', run: 'folders of runs' },
  options: {
    decider: { ...decider, default: 'gold' },
    claims: { ...claims, default: 'gold', describe: 'claims whose texts it is compared with: RUN/claims/CLAIMS' },
    encoder: { ...encoder, describe: "embeddings that are read: RUN/embeddings/ENCODER (default the drafter's)" },
    ...others,
    agreement: { type: 'number', default: FRONTIER_AGREEMENT, describe: 'least stop-loop agreement' },
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const { drafter: folder, ...runFlags } = flags;
  const agreement = numberIn('agreement', flags.agreement, [0, 1]);
  const details = drafterDetails.parse((await readManifest(folder, 'drafter')).details);
  const sources = sourcesOf({ ...runFlags, encoder: flags.encoder ?? details.encoder.name });
  const inputs = [...(await manifestsOf(flags.run, sources)), join(folder, MANIFEST_NAME)];
  const warnings: string[] = [];
  const drafted = await draftedStandIn(folder, details.encoder, (message) => warnings.push(message));
  const progress = terminal.progress('reading');
  try {
    const measured = await drafterFrontier(flags.run, sources, drafted, {
      meanClaims: await storedMeanClaims(folder),
      agreement,
      repeats: flags.repeats,
      signal: terminal.signal,
      onProgress: (done, total) => progress.update(done, total),
    });
    progress.done();
    const { frontier } = measured;
    warnings.push(...measured.warnings);
    if (frontier.length === 0)
      throw new InputError(`the drafter has seen every question of ${flags.run.join(', ')} at training: nothing is left to measure it on`, {
        file: folder,
      });
    const sum = (of: (entry: FrontierEntry) => number): number => frontier.reduce((total, one) => total + of(one), 0);
    const counts = {
      datasets: frontier.length,
      questions: sum((one) => one.questions),
      left_out: { training: sum((one) => one.left_out.training), epoch: sum((one) => one.left_out.epoch) },
    };
    const beats = beatsBaselines(details.held_out, frontier);
    const result = { label: details.label, drafter_sha256: drafted.sha256, beatsBaselines: beats, frontier };
    if (flags.out !== undefined)
      await write(flags.out, flags, {
        inputs,
        counts,
        warnings,
        result,
        options: { ...storedSources(sources, undefined, flags.repeats), agreement },
      });
    terminal.print(details.label);
    for (const entry of frontier) terminal.print(frontierWords(entry));
    return { out: flags.out ?? null, counts, quarantined: {}, warnings, ...result };
  } finally {
    progress.done();
    await drafted.close();
  }
}

async function write(
  dir: string,
  { seed, resume, force }: Flags,
  what: { inputs: string[]; counts: Manifest['counts']; warnings: string[]; result: object; options: Manifest['options'] },
): Promise<void> {
  const { inputs, options, counts, warnings, result } = what;
  const out = await openOutputFolder({
    dir,
    kind: 'drafter-evaluation',
    command: 'drafter evaluate',
    options,
    seed,
    inputs,
    resume,
    force,
  });
  if (out.finished) return;
  await out.file('evaluation.json', `${JSON.stringify(result, null, 2)}\n`);
  await out.finish({ counts, warnings });
}
