import { join } from 'node:path';
import { decideRun, trivialCell } from '../../../runtime/index.js';
import { CheckFailedError, InputError, shown } from '../../core/errors.js';
import { type Manifest, readManifest } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { runFolder } from '../../core/run-folder.js';
import { readRunQuestions } from '../../core/run-questions.js';
import { readTable } from '../../core/tables.js';
import { type LearntFrom, type QuestionUse, countLearnt } from '../../core/training-questions.js';
import { type Trajectory, groupTrajectories, trajectoryColumns } from '../../core/trajectories.js';
import type { RunClaims } from '../../evaluate/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { DECIDERS, type DeciderFlags, deciderOption, deciderOptions, refuseOthersFlags } from '../decider-flags.js';
import { resultOf } from '../finished.js';
import { makeDecider } from '../make-decider.js';
import { folderName } from '../run-flags.js';
import { formatOption } from './input-options.js';

interface Flags extends CommonFlags, DeciderFlags {
  run: string;
  name?: string;
  format: 'arrow' | 'jsonl';
}

export const decide: Command = {
  path: 'decide <run>',
  describe: 'a verdict for every loop of a run, kept beside it',
  positionals: { run: 'folder of a run' },
  options: {
    ...deciderOption,
    name: { type: 'string', describe: 'name under which the verdicts are kept (default: the decider)' },
    ...deciderOptions,
    ...formatOption,
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const opened: { close(): Promise<void> }[] = [];
  try {
    return await decideWith(flags, terminal, opened);
  } finally {
    for (const one of opened.toReversed()) await one.close();
  }
}

async function decideWith(flags: Flags, terminal: Terminal, opened: { close(): Promise<void> }[]): Promise<CommandResult> {
  refuseOthersFlags(flags);
  const name = flags.name ?? flags.decider;
  folderName('name', name);
  if (name !== flags.decider && (DECIDERS as readonly string[]).includes(name))
    throw new InputError(
      `--name: got ${shown(name)}, which is another decider's; verdicts of --decider ${flags.decider} need a name of their own`,
    );
  const manifest = await readManifest(flags.run, 'trajectories');
  const dir = flags.out ?? runFolder.verdicts(flags.run, name);
  const { decider, inputs, options, claims, learntFrom, model, usage, guarded } = await makeDecider(flags, manifest, {
    dir,
    opened,
    terminal,
  });
  const out = await openOutputFolder({
    dir,
    kind: 'verdicts',
    command: 'decide',
    options: { decider: flags.decider, name, ...options, format: flags.format },
    seed: flags.seed,
    inputs: [join(flags.run, 'manifest.json'), ...inputs],
    resume: flags.resume,
    force: flags.force,
  });
  if (out.finished) return ended(resultOf(dir, out.finished), terminal);

  const discarding = async (error: unknown): Promise<never> => {
    if (error instanceof InputError) await out.discard();
    throw error;
  };
  const unprepared = async (error: unknown): Promise<never> => {
    if (error instanceof CheckFailedError) await out.discard();
    return discarding(error);
  };
  const size = await sizeOf(flags.run, manifest);
  const { signal } = terminal;
  const prepared = (await decider.prepare?.(questionsOf(flags.run, manifest), { signal }).catch(unprepared)) ?? {
    counts: {},
    warnings: [],
  };
  terminal.note(
    `${size.questions} questions: at most ${size.loops} decider calls, and ${size.sentences} claim–sentence pairs for each claim a question has`,
  );
  const bar = terminal.progress('deciding');
  const decided = await decideRun(out, readRunQuestions(flags.run, manifest), decider, {
    name,
    format: flags.format,
    total: size.questions,
    claimsOf: claims?.of,
    concurrency: model?.concurrency,
    onFailed: ({ question_id, message }) => terminal.warn(`question ${JSON.stringify(question_id)}: ${message}`),
    onProgress: (done, total) => bar.update(done, total),
    signal,
  })
    .catch(discarding)
    .finally(() => bar.done());
  const warnings = [...prepared.warnings, ...(await learntWarnings(flags.run, manifest, { claims, learntFrom }))];
  warnings.push(...(decider.warnings?.(decided.read ?? {}) ?? []));
  const withoutClaims = Object.entries(decided.without_claims);
  for (const [reason, n] of withoutClaims) warnings.push(`${n} questions have no claims (${reason}) and are never covered`);
  const trivial = guarded ? trivialCell(decided) : undefined;
  if (trivial !== undefined) warnings.push(trivial);
  const done = await out.finish({
    counts: { ...prepared.counts, ...decided, ...(usage && { usage: { ...usage } }) },
    warnings,
    details: {
      name,
      decider: decider.identity,
      dataset: String(manifest.details.dataset),
      claims: claims?.source ?? null,
      scan: { ...decider.scan, threshold: { ...decider.scan.threshold } },
      ...(guarded && { trivial: trivial !== undefined }),
    },
  });
  const result = ended(resultOf(dir, done), terminal);
  if (!model) return result;
  terminal.note(await model.words());
  return { ...result, model: model.identity, work: model.work() };
}

/** A warning where the decider's model has seen questions of the run. */
async function learntWarnings(
  run: string,
  manifest: Manifest,
  { claims, learntFrom }: { claims: RunClaims | undefined; learntFrom: LearntFrom | undefined },
): Promise<string[]> {
  if (!claims || !learntFrom) return [];
  const uses: (QuestionUse | null)[] = [];
  for await (const question of questionsOf(run, manifest)) {
    const [claim] = claims.of(question);
    uses.push(claim === undefined ? null : learntFrom(claim.question));
  }
  const { training, epoch } = countLearnt(uses);
  if (training + epoch === 0) return [];
  return [
    `the decider was trained on ${training} of ${uses.length} questions, and ${epoch} chose its epoch: its verdicts on them are not those on held-out questions`,
  ];
}

function trajectoriesOf(run: string, manifest: Manifest): AsyncGenerator<Trajectory> {
  return groupTrajectories(readTable(run, manifest, 'trajectories', trajectoryColumns));
}

async function* questionsOf(run: string, manifest: Manifest): AsyncGenerator<{ question_id: string; row: number; loops: number }> {
  for await (const { question_id, row, loops } of trajectoriesOf(run, manifest)) yield { question_id, row, loops: loops.length };
}

async function sizeOf(run: string, manifest: Manifest): Promise<{ questions: number; loops: number; sentences: number }> {
  const size = { questions: 0, loops: 0, sentences: 0 };
  for await (const { loops } of trajectoriesOf(run, manifest)) {
    size.questions++;
    size.loops += loops.length;
    for (const { sentences } of loops) size.sentences += sentences.length;
  }
  return size;
}

function ended(result: CommandResult, terminal: Terminal): CommandResult {
  const { questions, loops, fires, never_fires } = result.counts as {
    questions: number;
    loops: number;
    fires: { [loop: string]: number };
    never_fires: number;
  };
  const byLoop = Object.entries(fires).map(([loop, n]) => `${n} at loop ${loop}`);
  terminal.print(
    `${questions} questions, ${loops} loops; first fires: ${[...byLoop, `${never_fires} never`].join(', ')}; in ${String(result.out)}`,
  );
  return result;
}
