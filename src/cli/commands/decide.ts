import { join } from 'node:path';
import {
  type Decider,
  decideRun,
  fileDecider,
  goldDecider,
  headDecider,
  HYPOTHESES,
  type Hypothesis,
  judgeDecider,
  nliDecider,
  openHead,
  openNliModel,
  openSmallVerifier,
  openVerdicts,
  orDecider,
  readSmallVerifier,
  smallDecider,
  trivialCell,
  verifierDecider,
} from '../../../runtime/index.js';
import { JUDGE_READS, type JudgeReads } from '../../prompts/index.js';
import { CLAIM_TEXTS, type ClaimText } from '../../core/claims.js';
import { CheckFailedError, InputError, shown } from '../../core/errors.js';
import { type Json, MANIFEST_NAME, type Manifest, readManifest } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { runFolder } from '../../core/run-folder.js';
import { readRunQuestions } from '../../core/run-questions.js';
import { readTable } from '../../core/tables.js';
import { type LearntFrom, type QuestionUse, countLearnt } from '../../core/training-questions.js';
import { type Trajectory, groupTrajectories, trajectoryColumns } from '../../core/trajectories.js';
import { type RunClaims, checkVerdictsOfRun, readRunClaims } from '../../evaluate/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { encoderOf, encoderOptions } from '../encoder-flags.js';
import { resultOf } from '../finished.js';
import { type LlmFlags, type OpenedModel, llmOptions, openModel } from '../llm-flags.js';
import { formatOption } from './input-options.js';
import { numberIn, wholeNumber } from '../number-flags.js';
import { folderName } from '../run-flags.js';
import { type VerifierFlags, verifierFolder, verifierOf, verifierOptions } from '../verifier-flags.js';

const DECIDERS = ['gold', 'small', 'verifier', 'file', 'judge', 'nli', 'stoprag', 'simrag', 'or'] as const;

interface Flags extends CommonFlags, VerifierFlags, LlmFlags {
  run: string;
  decider: (typeof DECIDERS)[number];
  name?: string;
  verdicts?: string;
  threshold?: number;
  'judge-reads'?: JudgeReads;
  'allow-wrong-polarity'?: boolean;
  hypothesis?: Hypothesis;
  of?: string;
  'skip-incomplete'?: boolean;
  covering?: 'answer' | 'paragraph';
  support?: 'any' | 'all';
  model?: string;
  claims?: string;
  'claim-text'?: ClaimText;
  'all-pairs'?: boolean;
  'look-ahead'?: number;
  encoder?: string;
  'cache-dir'?: string;
  format: 'arrow' | 'jsonl';
}

/** Flags of the prompt judge alone. */
export const judgeOptions = {
  'judge-reads': {
    choices: JUDGE_READS,
    describe: 'judge: what stands for the evidence (default: sub_answers where the run has them, else the retrieved sentences)',
  },
  'allow-wrong-polarity': {
    type: 'boolean',
    describe: 'judge: go on although it says yes to empty states rather than to sufficient ones',
  },
} as const;

export const decide: Command = {
  path: 'decide <run>',
  describe: 'a verdict for every loop of a run, kept beside it',
  positionals: { run: 'folder of a run' },
  options: {
    decider: {
      choices: DECIDERS,
      demandOption: true,
      describe:
        'gold: oracle coverage, a diagnostic; small: the small verifier; verifier: a trained one; file: verdicts made elsewhere; judge: a language model, without claims; nli: a cross-encoder; stoprag, simrag: a trained two-way head; or: either of two',
    },
    name: { type: 'string', describe: 'name under which the verdicts are kept (default: the decider)' },
    verdicts: { type: 'string', describe: 'file: JSON lines {question_id, loop, covered, p?, row?}' },
    threshold: {
      type: 'number',
      describe:
        'file, judge, nli: from which p on a loop, or with nli a claim, is covered (default 0.5; the papers also take 0.95, nli 0.9)',
    },
    ...judgeOptions,
    hypothesis: {
      choices: HYPOTHESES,
      describe: 'nli: what is made of a claim: a sentence of title and target (default), both as a key phrase, or its own text',
    },
    of: { type: 'string', describe: 'or: the names of two verdicts in RUN/verdicts, A,B' },
    'skip-incomplete': { type: 'boolean', describe: 'file: leave out questions of which a loop has no verdict' },
    covering: {
      choices: ['answer', 'paragraph'],
      describe: "gold, MuSiQue: a hop's sentences with its answer (default), or all of its paragraph",
    },
    support: { choices: ['any', 'all'], describe: 'gold: one gold sentence covers a hop (default), or all of them have to be retrieved' },
    model: { type: 'string', describe: 'small, verifier: folder of the model (small train, verifier import), or a verifier by name' },
    claims: { type: 'string', describe: 'small, verifier: claims that it reads: RUN/claims/CLAIMS' },
    'claim-text': { choices: CLAIM_TEXTS, describe: 'small: which text of a claim it reads (default expected_claim)' },
    'all-pairs': {
      type: 'boolean',
      describe: 'small, verifier: score every pair, as a threshold sweep needs it; else a scan ends at its first match',
    },
    'look-ahead': {
      type: 'number',
      describe: 'verifier: sentences of a claim scored together before the scan looks for a match (default 2; with --server all)',
    },
    ...encoderOptions,
    encoder: { ...encoderOptions.encoder, describe: 'small: default: the one that the model was trained on, by name' },
    ...verifierOptions,
    ...llmOptions,
    ...formatOption,
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

/** Which decider each of these flags belongs to. */
const owners = {
  verdicts: ['file'],
  threshold: ['file', 'judge', 'nli', 'stoprag', 'simrag'],
  hypothesis: ['nli'],
  'judge-reads': ['judge'],
  'allow-wrong-polarity': ['judge'],
  of: ['or'],
  llm: ['judge'],
  'llm-url': ['judge'],
  'llm-key-env': ['judge'],
  'llm-revision': ['judge'],
  'llm-timeout': ['judge'],
  'llm-retries': ['judge'],
  concurrency: ['judge'],
  'budget-calls': ['judge'],
  'budget-tokens': ['judge'],
  'budget-cost': ['judge'],
  prices: ['judge'],
  'skip-incomplete': ['file'],
  covering: ['gold'],
  support: ['gold'],
  model: ['small', 'verifier', 'nli', 'stoprag', 'simrag'],
  claims: ['small', 'verifier', 'nli'],
  'claim-text': ['small'],
  'all-pairs': ['small', 'verifier', 'nli'],
  'look-ahead': ['verifier'],
  encoder: ['small'],
  variant: ['verifier'],
  provider: ['verifier', 'nli', 'stoprag', 'simrag'],
  threads: ['verifier', 'nli', 'stoprag', 'simrag'],
  'max-tokens': ['verifier'],
  server: ['verifier'],
  'server-model': ['verifier'],
  'api-key-env': ['verifier'],
  timeout: ['verifier'],
  tolerance: ['verifier'],
} as const;

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const opened: { close(): Promise<void> }[] = [];
  try {
    return await decideWith(flags, terminal, opened);
  } finally {
    for (const one of opened.toReversed()) await one.close();
  }
}

async function decideWith(flags: Flags, terminal: Terminal, opened: { close(): Promise<void> }[]): Promise<CommandResult> {
  for (const [flag, deciders] of Object.entries(owners) as [keyof typeof owners, readonly string[]][]) {
    if (flags[flag] !== undefined && !deciders.includes(flags.decider))
      throw new InputError(`--${flag}: of no use with --decider ${flags.decider}`);
  }
  const name = flags.name ?? flags.decider;
  folderName('name', name);
  if (name !== flags.decider && (DECIDERS as readonly string[]).includes(name))
    throw new InputError(
      `--name: got ${shown(name)}, which is another decider's; verdicts of --decider ${flags.decider} need a name of their own`,
    );
  const manifest = await readManifest(flags.run, 'trajectories');
  const dir = flags.out ?? runFolder.verdicts(flags.run, name);
  const { decider, inputs, options, claims, learntFrom, model, guarded } = await makeDecider(flags, manifest, { dir, opened, terminal });
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

  // With input that is no use there is nothing to go on with, but for what an earlier run has paid for.
  const discarding = async (error: unknown): Promise<never> => {
    if (error instanceof InputError && !(flags.resume && model)) await out.discard();
    throw error;
  };
  const unprepared = async (error: unknown): Promise<never> => {
    if (error instanceof CheckFailedError && !flags.resume) await out.discard();
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
  const withoutClaims = Object.entries(decided.without_claims);
  for (const [reason, n] of withoutClaims) warnings.push(`${n} questions have no claims (${reason}) and are never covered`);
  const trivial = guarded ? trivialCell(decided) : undefined;
  if (trivial !== undefined) warnings.push(trivial);
  const done = await out.finish({
    counts: { ...prepared.counts, ...decided },
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

interface MadeDecider {
  decider: Decider;
  inputs: string[];
  options: { [name: string]: Json };
  claims?: RunClaims;
  /** What a question did for the decider's model. */
  learntFrom?: LearntFrom;
  /** The language model behind it. */
  model?: OpenedModel;
  /** Whether a decider that hardly rules at all is to be marked. */
  guarded?: boolean;
}

async function makeDecider(
  flags: Flags,
  manifest: Manifest,
  { dir, opened, terminal }: { dir: string; opened: { close(): Promise<void> }[]; terminal: Terminal },
): Promise<MadeDecider> {
  switch (flags.decider) {
    case 'gold': {
      const { covering = 'answer', support = 'any' } = flags;
      return { decider: goldDecider({ covering, support }), inputs: [], options: { covering, support } };
    }
    case 'small': {
      const { model, claims } = await modelAndClaims(flags, manifest, 'the folder of a small verifier');
      const { details } = await readSmallVerifier(model);
      const encoder = await encoderOf(flags, details.encoder.name);
      opened.push(encoder);
      const verifier = await openSmallVerifier(model, encoder);
      opened.push(verifier);
      const { 'claim-text': claimText = 'expected_claim', 'all-pairs': allPairs = false } = flags;
      return {
        decider: smallDecider(verifier, { claimText, allPairs }),
        inputs: [join(model, MANIFEST_NAME), claims.input],
        options: { claims: String(flags.claims), 'claim-text': claimText, 'all-pairs': allPairs },
        claims,
        learntFrom: verifier.learntFrom,
      };
    }
    case 'verifier': {
      const { model, claims } = await modelAndClaims(flags, manifest, 'the folder or name of a verifier');
      const verifier = await verifierOf(flags, model, terminal);
      opened.push(verifier);
      const { 'all-pairs': allPairs = false, 'server-model': served } = flags;
      // A server answers many prompts as fast as one.
      const asked = flags['look-ahead'] ?? (flags.server === undefined ? undefined : Number.MAX_SAFE_INTEGER);
      const lookAhead = asked === undefined ? undefined : wholeNumber('look-ahead', asked);
      return {
        decider: verifierDecider(verifier, { allPairs, lookAhead }),
        inputs: [join(await verifierFolder(model, flags['model-dir']), MANIFEST_NAME), claims.input],
        options: {
          claims: String(flags.claims),
          'all-pairs': allPairs,
          ...(flags['look-ahead'] !== undefined && { 'look-ahead': flags['look-ahead'] }),
          ...(flags.variant !== undefined && { variant: flags.variant }),
          ...(served !== undefined && { 'server-model': served }),
        },
        claims,
      };
    }
    case 'file': {
      if (flags.verdicts === undefined) throw new InputError('--verdicts: expected a file of verdicts for --decider file');
      const threshold = flags.threshold === undefined ? 0.5 : numberIn('threshold', flags.threshold, [Number.MIN_VALUE, 1]);
      const skipIncomplete = flags['skip-incomplete'] ?? false;
      const decider = await fileDecider(flags.verdicts, { threshold, skipIncomplete });
      return { decider, inputs: [flags.verdicts], options: { threshold, 'skip-incomplete': skipIncomplete } };
    }
    case 'judge': {
      const threshold = flags.threshold === undefined ? 0.5 : numberIn('threshold', flags.threshold, [Number.MIN_VALUE, 1]);
      const reads = flags['judge-reads'] ?? ((await hasSubAnswers(flags.run, manifest)) ? 'sub_answers' : 'sentences');
      const model = await openModel(flags, terminal, { dir });
      opened.push(model);
      const decider = judgeDecider(model, { threshold, reads, allowWrongPolarity: flags['allow-wrong-polarity'] });
      terminal.note(`the judge reads ${reads === 'sub_answers' ? 'sub-questions and sub-answers' : 'queries and retrieved sentences'}`);
      return { decider, inputs: [], options: { identity: decider.identity }, model };
    }
    case 'nli': {
      const { model, claims } = await modelAndClaims(flags, manifest, 'the folder of a sequence classifier');
      const { threshold: given, hypothesis = 'declarative', 'all-pairs': allPairs = false, provider, threads } = flags;
      const threshold = given === undefined ? 0.5 : numberIn('threshold', given, [Number.MIN_VALUE, 1]);
      const nli = await openNliModel(model, { provider, threads: threads === undefined ? undefined : wholeNumber('threads', threads) });
      opened.push(nli);
      const decider = nliDecider(nli, { threshold, hypothesis, allPairs });
      return {
        decider,
        inputs: [claims.input],
        options: { claims: String(flags.claims), 'all-pairs': allPairs, identity: decider.identity },
        claims,
        guarded: true,
      };
    }
    case 'stoprag':
    case 'simrag': {
      const { model, threshold: given, provider, threads } = flags;
      if (model === undefined) throw new InputError(`--model: expected the export folder of a trained head for --decider ${flags.decider}`);
      const threshold = given === undefined ? 0.5 : numberIn('threshold', given, [Number.MIN_VALUE, 1]);
      const head = await openHead(model, flags.decider, {
        provider,
        threads: threads === undefined ? undefined : wholeNumber('threads', threads),
      });
      opened.push(head);
      return { decider: headDecider(head, { threshold }), inputs: [join(model, 'export.json')], options: { threshold } };
    }
    case 'or': {
      const names = (flags.of ?? '').split(',').map((one) => one.trim());
      if (names.length !== 2 || names[0] === names[1] || names.includes(''))
        throw new InputError(`--of: got ${shown(flags.of ?? null)}, expected the names of two verdicts in RUN/verdicts: A,B`);
      const folders = names.map((one) => runFolder.verdicts(flags.run, folderName('of', one)));
      const [first, second] = [await openVerdicts(folders[0] as string), await openVerdicts(folders[1] as string)];
      for (const [at, { manifest: verdicts }] of [first, second].entries())
        await checkVerdictsOfRun(
          { folder: flags.run, manifest },
          { folder: folders[at] as string, name: names[at] as string, manifest: verdicts },
        );
      const decider = await orDecider(first, second);
      return { decider, inputs: folders.map((folder) => join(folder, MANIFEST_NAME)), options: { of: names } };
    }
  }
}

/** What every decider that reads claims needs. */
async function modelAndClaims(flags: Flags, manifest: Manifest, expected: string): Promise<{ model: string; claims: RunClaims }> {
  if (flags.model === undefined) throw new InputError(`--model: expected ${expected} for --decider ${flags.decider}`);
  if (flags.claims === undefined)
    throw new InputError(`--claims: expected the name of claims in RUN/claims for --decider ${flags.decider}`);
  return { model: flags.model, claims: await readRunClaims({ folder: flags.run, manifest }, folderName('claims', flags.claims)) };
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

/** Whether the run's agent gave an intermediate answer anywhere. */
async function hasSubAnswers(run: string, manifest: Manifest): Promise<boolean> {
  for await (const { loops } of trajectoriesOf(run, manifest)) if (loops.some(({ sub_answer }) => sub_answer !== null)) return true;
  return false;
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
