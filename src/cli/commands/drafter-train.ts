import { CLAIM_SOURCES, CLAIM_TEXTS, type ClaimSource, type ClaimText } from '../../core/claims.js';
import type { EncoderIdentity } from '../../core/embeddings.js';
import { type DrafterDetails, drafterDetails } from '../../core/drafter.js';
import { CheckFailedError, InputError } from '../../core/errors.js';
import type { Manifest } from '../../core/manifest.js';
import { openDraftModel } from '../../../runtime/index.js';
import {
  BACKENDS,
  type BackendChoice,
  type ClaimQuestions,
  MATCHINGS,
  MOST_SLOTS,
  type Matching,
  SHAPE_NAMES,
  type ShapeName,
  type TrainOptions,
  openTensorFlow,
  readClaimQuestions,
  shapeOf,
  trainDrafter,
} from '../../../distill/index.js';
import type { Command, CommonFlags, Terminal } from '../command.js';
import { FRONTIER_AGREEMENT, type Repeats, REPEATS, drafterFrontier, runEvidence } from '../../evaluate/index.js';
import { encoderOf, encoderOptions } from '../encoder-flags.js';
import { frontierWords } from '../frontier-words.js';
import { numberIn, wholeNumber } from '../number-flags.js';
import { manifestsOf } from '../run-flags.js';
import { stagedProgress } from '../staged-progress.js';

export const drafterTrain: Command = {
  path: 'drafter train <claims>',
  describe: 'trains a drafter: from a question to vectors that stand for its claims',
  epilogue:
    'CLAIMS is a claims folder, or JSON lines of {"question_id", "question", "claims": ["…"]} (the id is optional). Every text is encoded once, into the ' +
    'cache. A drafter of gold claims has seen gold labels and is a diagnostic; its manifest says so.',
  positionals: { claims: 'claims folder or JSON lines file' },
  options: {
    ...encoderOptions,
    'claim-text': {
      type: 'string',
      choices: CLAIM_TEXTS,
      describe: "which text of a claims folder's claims; default: that of their source",
    },
    field: { type: 'string', describe: 'field of JSON lines that holds the list of claims; default: claims' },
    source: { type: 'string', choices: CLAIM_SOURCES, describe: 'where the claims of JSON lines came from' },
    shape: { type: 'string', choices: SHAPE_NAMES, default: SHAPE_NAMES[0], describe: 'hidden widths and slots' },
    slots: { type: 'number', describe: `claims drafted at most, 1 to ${MOST_SLOTS}; default: the shape's` },
    residual: { type: 'boolean', default: true, describe: 'slot = unit(question + correction); --no-residual: unit(correction)' },
    dropout: { type: 'number', default: 0.4, describe: 'share of hidden values zeroed in a step' },
    epochs: { type: 'number', default: 40, describe: 'passes over the training questions, at most' },
    patience: { type: 'number', default: 10, describe: 'epochs without a better held-out cosine that end training; 0: never' },
    batch: { type: 'number', default: 64, describe: 'questions a step' },
    'learning-rate': { type: 'number', default: 0.001, describe: "of Adam's steps" },
    'weight-decay': { type: 'number', default: 0, describe: 'decoupled weight decay' },
    'count-weight': { type: 'number', default: 0.1, describe: "weight of the number of claims' cross-entropy beside the cosine loss" },
    'margin-run': {
      type: 'string',
      array: true,
      nargs: 1,
      describe: 'run of training questions on whose evidence slots also learn the margins of their claims; may be given again',
    },
    'margin-weight': { type: 'number', describe: 'weight of the squared error of those margins; default: 1' },
    matching: { type: 'string', choices: MATCHINGS, default: MATCHINGS[0], describe: 'which claim a slot learns' },
    'held-out': { type: 'number', default: 0.1, describe: 'share of the questions kept for early stopping and the report' },
    'learning-curve': { type: 'string', describe: 'comma list of numbers of training questions at which it is trained too' },
    backend: {
      type: 'string',
      choices: ['auto', ...BACKENDS],
      default: 'auto',
      describe: 'gpu: @tensorflow/tfjs-node-gpu, cpu: @tensorflow/tfjs-node, where installed; wasm; js',
    },
    run: {
      type: 'string',
      array: true,
      nargs: 1,
      describe: 'run (of held-out questions) on which its call cut is measured; may be given again',
    },
    decider: { type: 'string', default: 'gold', describe: 'verdicts of those runs' },
    'run-claims': { type: 'string', default: 'gold', describe: 'claims of those runs, whose texts it is compared with' },
    'run-claim-text': { type: 'string', choices: CLAIM_TEXTS, describe: 'which text of those claims; default: that of their source' },
    repeats: { choices: REPEATS, describe: 'rows of those runs whose question id stood before: keep the first, or all rows' },
    'checkpoint-every': { type: 'number', default: 5, describe: 'epochs between two checkpoints' },
    strict: { type: 'boolean', default: false, describe: 'exit code 1 when any line was set aside' },
  },
  run: async (args, terminal) => {
    const options = trainOptions(args, terminal);
    const claims = await readClaimQuestions(args.claims as string, {
      claimText: args['claim-text'] as ClaimText | undefined,
      field: args.field as string | undefined,
      source: args.source as ClaimSource | undefined,
    });
    const opened = await openTensorFlow(args.backend as BackendChoice);
    terminal.note(`backend ${opened.backend} (${opened.why})`);
    const encoder = await encoderOf(args);
    const shown = stagedProgress(terminal);
    try {
      const runs = (args.run as string[] | undefined) ?? [];
      const marginRuns = (args['margin-run'] as string[] | undefined) ?? [];
      const manifest = await trainDrafter(claims, encoder, opened, {
        ...options,
        ...(marginRuns.length > 0 && { evidence: await runEvidence(marginRuns, encoder.identity) }),
        onProgress: (...at) => shown.update(...at),
        ...(runs.length > 0 && (await measurement(runs, encoder.identity, claims.source, args, terminal))),
      });
      shown.done();
      const details = drafterDetails.parse(manifest.details);
      terminal.print(summary(details, manifest, options.dir));
      if (args.strict === true && claims.setAside.length > 0) {
        throw new CheckFailedError(
          `${claims.setAside.length} lines were set aside and --strict was given; ${options.dir}/quarantine.jsonl lists them`,
        );
      }
      return {
        out: options.dir,
        counts: manifest.counts,
        quarantined: manifest.quarantined,
        warnings: manifest.warnings,
        backend: { ran: opened.backend, why: opened.why },
        encoded: { ...encoder.counts },
        beatsBaselines: details.beatsBaselines,
        held_out: details.held_out,
        learning_curve: details.learning_curve,
        frontier: details.frontier,
        training: { ...details.training, history: undefined },
      };
    } finally {
      shown.done();
      await encoder.close();
    }
  },
};

/** What `trainDrafter` needs to measure a drafter on runs, and what of the runs is part of its settings. */
async function measurement(
  runs: readonly string[],
  encoder: EncoderIdentity,
  source: ClaimQuestions['source'],
  args: { [name: string]: unknown },
  terminal: Terminal,
): Promise<Pick<TrainOptions, 'measure' | 'measuredOn' | 'measuredFiles'>> {
  const sources = {
    decider: args.decider as string,
    claims: args['run-claims'] as string,
    encoder: encoder.name,
    claimText: args['run-claim-text'] as ClaimText | undefined,
  };
  return {
    measuredOn: {
      decider: sources.decider,
      claims: sources.claims,
      'claim-text': sources.claimText ?? null,
      repeats: (args.repeats as Repeats | undefined) ?? null,
    },
    measuredFiles: await manifestsOf(runs, sources),
    measure: async ({ shape, dimensions }, onnx, { meanClaims, from }) => {
      const model = await openDraftModel(onnx, 'the trained drafter', { ...shape, dimensions });
      const drafted = {
        sha256: null,
        claimSource: source === 'unstated' ? null : source,
        learntFrom: from,
        targets: async (question: Float32Array) => (await model.draft(question)).slots,
        close: () => model.close(),
      };
      try {
        return await drafterFrontier(runs, sources, drafted, {
          meanClaims,
          agreement: FRONTIER_AGREEMENT,
          repeats: args.repeats as Repeats | undefined,
          signal: terminal.signal,
        });
      } finally {
        await drafted.close();
      }
    },
  };
}

function trainOptions(args: { [name: string]: unknown } & CommonFlags, terminal: Terminal): TrainOptions {
  if (args.out === undefined) throw new InputError('--out: name a folder for the drafter');
  return {
    dir: args.out,
    shape: shapeOf(args.shape as ShapeName, args.slots as number | undefined),
    residual: args.residual as boolean,
    dropout: numberIn('dropout', args.dropout, [0, 0.95]),
    weightDecay: numberIn('weight-decay', args['weight-decay'], [0, 10]),
    learningRate: numberIn('learning-rate', args['learning-rate'], [1e-9, 10]),
    countWeight: numberIn('count-weight', args['count-weight'], [0, Infinity]),
    marginWeight: marginWeight(args),
    batch: wholeNumber('batch', args.batch),
    epochs: wholeNumber('epochs', args.epochs),
    patience: wholeNumber('patience', args.patience, 0),
    checkpointEvery: wholeNumber('checkpoint-every', args['checkpoint-every']),
    matching: args.matching as Matching,
    heldOut: numberIn('held-out', args['held-out'], [0, 0.95]),
    learningCurve: curveSizes(args['learning-curve'] as string | undefined),
    seed: args.seed,
    resume: args.resume,
    force: args.force,
    signal: terminal.signal,
  };
}

/** Without runs there is no evidence to weigh. */
function marginWeight(args: { [name: string]: unknown }): number | undefined {
  const given = args['margin-weight'] !== undefined;
  if (args['margin-run'] !== undefined) return given ? numberIn('margin-weight', args['margin-weight'], [1e-9, Infinity]) : 1;
  if (given) throw new InputError('--margin-weight: expected --margin-run beside it, which names the evidence');
  return undefined;
}

function curveSizes(given: string | undefined): number[] {
  if (given === undefined) return [];
  const sizes = given.split(',').map(Number);
  const wrong = sizes.find((one) => !Number.isSafeInteger(one) || one < 1);
  if (wrong !== undefined)
    throw new InputError(`--learning-curve: got ${JSON.stringify(given)}, expected a comma list of integers of at least 1`);
  return [...new Set(sizes)].toSorted((a, b) => a - b);
}

function summary(details: DrafterDetails, { counts }: Manifest, dir: string): string {
  const { held_out: heldOut, training, shape } = details;
  const lines = [
    `${details.label}: ${details.parameters} parameters, ${shape.hidden.join('-')}, ${shape.slots} slots${shape.residual ? ', residual' : ''}, ${details.encoder.name}`,
    `${training.questions} training questions, ${training.epochs} epochs (the weights of epoch ${training.best_epoch}), ${training.steps} steps on ${details.backend}`,
    `${String(counts.questions_over_slots)} questions have more claims than slots (${String(counts.claims_dropped)} claims dropped)`,
  ];
  if (heldOut) {
    const perSlot = heldOut.cosine_per_slot.map((one) => one?.toFixed(3) ?? '–').join(' / ');
    lines.push(
      `${training.held_out} held-out questions: cosine ${heldOut.cosine.toFixed(3)} (per slot ${perSlot}); mean claim ${heldOut.baselines.mean_claim.toFixed(3)}, question itself ${heldOut.baselines.question.toFixed(3)}`,
      `number of claims right on ${(100 * heldOut.count_accuracy).toFixed(1)}%; drafts of two questions have cosine ${heldOut.pairwise_cosine.toFixed(3)}, claims ${heldOut.pairwise_cosine_of_claims.toFixed(3)}`,
    );
  }
  for (const entry of details.frontier) lines.push(frontierWords(entry));
  for (const { questions, cosine } of details.learning_curve)
    lines.push(`trained on ${questions}: held-out cosine ${cosine?.toFixed(3) ?? '–'}`);
  return [...lines, dir].join('\n');
}
