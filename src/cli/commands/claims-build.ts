import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { BUILT_SOURCES, type OpenedRecords, buildClaims, generateClaims, openRecords } from '../../../datasets/index.js';
import type { ClaimSource } from '../../core/claims.js';
import { InputError } from '../../core/errors.js';
import { MANIFEST_NAME, type Manifest, readManifest } from '../../core/manifest.js';
import { runFolder } from '../../core/run-folder.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { resultOf } from '../finished.js';
import { type LlmFlags, llmOptions, openModel, refuseModelFlags } from '../llm-flags.js';
import { wholeNumber } from '../number-flags.js';
import { checkStrict, formatOption, inputOptions, openOptions, outFolder, subsetOption } from './input-options.js';

interface Flags extends CommonFlags, LlmFlags {
  file: string;
  source: ClaimSource;
  'allow-missing-gold': boolean;
  'after-loop'?: number;
  constrained?: boolean;
  subset?: string;
  format: 'arrow' | 'jsonl';
  strict: boolean;
}

export const claimsBuild: Command = {
  path: 'claims build <file>',
  describe: 'makes the hop claims of every question',
  epilogue:
    'Generated claims take one call of the language model a question. They are interrupted and resumed by question; a question whose call fails for good ' +
    'harms no other. Claims after a loop (--after-loop) are for measuring how evidence changes claims; no gate, decider or drafter takes them.',
  positionals: { file: 'dataset file, records folder or run folder (the claims then go into the run)' },
  options: {
    ...inputOptions,
    source: {
      type: 'string',
      choices: [...BUILT_SOURCES, 'generated'],
      demandOption: true,
      describe:
        'gold: from supporting facts or decomposition; heuristic: from the question alone, without a language model; generated: by the model of --llm',
    },
    'allow-missing-gold': {
      type: 'boolean',
      default: false,
      describe: 'gold claims of the pages that are there, although others are missing',
    },
    'after-loop': { type: 'number', describe: 'generated: from what the agent of a run had found after this many loops as well' },
    constrained: { type: 'boolean', describe: 'generated: bind the reply to a JSON schema where the model can; the papers do not' },
    ...llmOptions,
    ...subsetOption,
    ...formatOption,
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const { file, source, seed, resume, force, format } = flags;
  const inRun = await isRun(file);
  if (source !== 'generated') {
    for (const name of ['after-loop', 'constrained', 'cache-dir'] as const)
      if (flags[name] !== undefined) throw new InputError(`--${name}: of no use with --source ${source}`);
    refuseModelFlags(flags, `with --source ${source}`);
  } else if (flags['allow-missing-gold']) {
    throw new InputError('--allow-missing-gold: of no use with --source generated');
  }
  const afterLoop = flags['after-loop'] === undefined ? undefined : wholeNumber('after-loop', flags['after-loop']);
  if (afterLoop !== undefined && !inRun) throw new InputError('--after-loop: only a run has loops; give the folder of one');
  // The questions of such claims are those of the run's loops, and no subset is looked at.
  if (afterLoop !== undefined && flags.subset !== undefined) throw new InputError('--subset: of no use with --after-loop');
  const name = afterLoop === undefined ? source : `${source}-after-${afterLoop}`;
  const out = flags.out ?? (inRun ? runFolder.claims(file, name) : outFolder(undefined));
  const progress = terminal.progress(source === 'generated' ? 'claims' : 'claims (MB read)');
  const options = { out, format, seed, resume, force };
  try {
    const reading = source === 'generated' ? { update: () => undefined, done: () => undefined } : progress;
    const opened = await openRecords(file, openOptions({ ...flags }, terminal, reading));
    if (source !== 'generated') {
      const manifest = await buildClaims(opened, {
        ...options,
        source,
        allowMissingGold: flags['allow-missing-gold'],
      });
      return ended(manifest, flags, { out, terminal });
    }
    return await generated(opened, flags, { ...options, afterLoop, terminal, onProgress: (done) => progress.update(done, null) });
  } finally {
    progress.done();
  }
}

async function generated(
  opened: OpenedRecords,
  flags: Flags,
  { terminal, ...options }: Omit<Parameters<typeof generateClaims>[1], 'model'> & { terminal: Terminal },
): Promise<CommandResult> {
  const model = await openModel(flags, terminal, { dir: options.out });
  try {
    const manifest = await generateClaims(opened, {
      ...options,
      model,
      constrained: flags.constrained ?? false,
      concurrency: model.concurrency,
      onFailed: ({ question_id, message }) => terminal.warn(`question ${JSON.stringify(question_id)}: ${message}`),
      signal: terminal.signal,
    });
    const result = ended(manifest, flags, { out: options.out, terminal });
    terminal.note(await model.words());
    return { ...result, model: model.identity, work: model.work() };
  } finally {
    await model.close();
  }
}

function ended(manifest: Manifest, flags: Flags, { out, terminal }: { out: string; terminal: Terminal }): CommandResult {
  const { counts, quarantined } = manifest;
  const perK = counts.claims_per_question as { [k: string]: number };
  terminal.print(
    `${flags.source} claims  ${String(counts.claims)} for ${String(counts.questions)} questions, ${String(counts.no_claims)} without`,
  );
  terminal.print(`claims a question  ${listed(perK)}`);
  if (flags.source === 'generated') {
    terminal.print(`replies  ${listed(counts.readings)}`);
    if (counts.entity_f1 !== null)
      terminal.print(`entity F1 against the gold titles  ${Number(counts.entity_f1).toFixed(3)}  (${listed(counts.buckets)})`);
  }
  terminal.print(out);
  const repaired = counts.repaired as { [reason: string]: number };
  checkStrict(flags.strict, quarantined, repaired.dangling_sentence ?? 0);
  return resultOf(out, manifest);
}

function listed(counts: unknown): string {
  return Object.entries(counts as { [name: string]: number })
    .map(([name, n]) => `${name}: ${n}`)
    .join('  ');
}

async function isRun(file: string): Promise<boolean> {
  const isFolder = await stat(join(file, MANIFEST_NAME)).then(
    () => true,
    () => false,
  );
  return isFolder && (await readManifest(file)).kind === 'trajectories';
}
