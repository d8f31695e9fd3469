import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { DRAFTER_ONNX, DRAFTER_WEIGHTS, type DrafterDetails, type FrontierEntry, beatsBaselines } from '../src/core/drafter.js';
import { InputError } from '../src/core/errors.js';
import type { EncoderIdentity, Role } from '../src/core/embeddings.js';
import { canonicalJson, sha256 } from '../src/core/hash.js';
import type { Manifest } from '../src/core/manifest.js';
import { type OutputFolder, openOutputFolder, writeFileAtomic } from '../src/core/output-folder.js';
import type { OnProgress } from '../src/core/progress.js';
import { random } from '../src/core/random.js';
import { type LearntFrom, TRAINING_QUESTIONS, learntFrom, trainingQuestionLines } from '../src/core/training-questions.js';
import type { Checkpoints } from './checkpoint.js';
import type { ClaimQuestion, ClaimQuestions } from './claim-questions.js';
import { baselineQuality, collapsed, draftQuality, meanClaimVectors } from './draft-quality.js';
import { type DrafterModel, parameterTensors } from './drafter-model.js';
import { type Examples, type QuestionEvidence, chosenExamples, heldOutSplit } from './examples.js';
import { drafterOnnx, drafterSafetensors } from './export.js';
import { type FitOptions, type FittedDrafter, fitDrafter } from './fit.js';
import { parameterCount } from './shape.js';
import type { OpenedTensorFlow } from './tensorflow.js';

/** The encoder as distillation sees it: texts to unit vectors. */
export interface TextEncoder {
  readonly identity: EncoderIdentity;
  encode(
    texts: readonly string[],
    role: Role,
    options?: { signal?: AbortSignal | undefined; onProgress?: OnProgress | undefined },
  ): Promise<Float32Array[]>;
}

export interface TrainOptions extends FitOptions {
  dir: string;
  /** Share of the different question texts that is held out for early stopping and the report, in [0, 1). */
  heldOut: number;
  /**
   * What an agent retrieved for questions of the claims, by the question's text, as vectors of the same encoder; with `marginWeight` the slots'
   * margins on it are trained too. `evidenceText` says how the sentences were embedded, `files` stand for what was read.
   */
  evidence?: { byQuestion: ReadonlyMap<string, QuestionEvidence>; evidenceText: string; files: readonly string[] } | undefined;
  /** Numbers of training questions at which the drafter is also trained, for the learning curve. */
  learningCurve: readonly number[];
  /** Epochs between two checkpoints. */
  checkpointEvery: number;
  resume?: boolean | undefined;
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Which stage it is in, with how far it is. */
  onProgress?: ((stage: string, done: number, total: number | null) => void) | undefined;
  /** Measures a trained drafter (its model, its ONNX bytes, the mean training claims, the questions it has seen) on runs; without it the manifest's `frontier` is empty. */
  measure?:
    | ((
        model: DrafterModel,
        onnx: Uint8Array,
        learnt: { meanClaims: readonly Float32Array[]; from: LearntFrom },
      ) => Promise<{ frontier: FrontierEntry[]; warnings: string[] }>)
    | undefined;
  /** How `measure` reads the runs, for the settings, and the files that stand for what it reads. */
  measuredOn?: Manifest['options'] | undefined;
  measuredFiles?: readonly string[] | undefined;
}

/**
 * Questions with claims to a finished drafter folder: `drafter.onnx`, `drafter.safetensors`, `training-questions.jsonl`, `quarantine.jsonl`,
 * and a manifest with everything that was measured. Its bytes follow from the claims, the encoder, the options and the backend.
 */
export async function trainDrafter(
  claims: ClaimQuestions,
  encoder: TextEncoder,
  { tf, backend }: OpenedTensorFlow,
  options: TrainOptions,
): Promise<Manifest> {
  const out = await openOutputFolder({
    dir: options.dir,
    kind: 'drafter',
    command: 'drafter train',
    options: settings(claims, encoder.identity, backend, options),
    seed: options.seed,
    inputs: [...new Set([claims.input, ...(options.evidence?.files ?? []), ...(options.measuredFiles ?? [])])],
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return out.finished;
  const { training, heldOut, seen } = await vectors(claims, encoder, options);
  if (training.evidence?.every((one) => one === undefined)) {
    throw new InputError('--margin-run: none of the training questions is in these runs; questions are matched by their text', {
      file: claims.input,
    });
  }
  const curve = await learningCurve(tf, training, heldOut, out, options);
  const fitted = await fitDrafter(tf, training, heldOut, options, {
    signal: options.signal,
    checkpoints: checkpointsIn(out, 'fit', options.checkpointEvery),
    onEpoch: ({ epoch }) => options.onProgress?.('training', epoch, options.epochs),
  });
  const onnx = drafterOnnx(fitted.model);
  const meanClaims = meanClaimVectors(training, options.shape.slots);
  const measured = (await options.measure?.(fitted.model, onnx, { meanClaims, from: learntFrom(seen) })) ?? { frontier: [], warnings: [] };
  const { frontier } = measured;
  const details = describe(tf, claims, encoder.identity, backend, { training, heldOut, curve, fitted, frontier }, options);
  await out.file(DRAFTER_WEIGHTS, drafterSafetensors(fitted.model, meanClaims));
  await out.file(DRAFTER_ONNX, onnx);
  await out.jsonl(TRAINING_QUESTIONS, seen);
  await out.jsonl('quarantine.jsonl', claims.setAside);
  const { slots } = options.shape;
  const over = claims.questions.filter((one) => one.claims.length > slots);
  const dropped = over.reduce((sum, one) => sum + one.claims.length - slots, 0);
  return out.finish({
    counts: {
      questions: claims.questions.length,
      training: training.questions.length,
      held_out: heldOut.questions.length,
      ...(training.evidence && { margin_questions: training.evidence.filter((one) => one !== undefined).length }),
      claims: claims.questions.reduce((sum, one) => sum + one.claims.length, 0),
      empty_claims: claims.emptyClaims,
      repeated_ids: claims.repeatedIds,
      questions_over_slots: over.length,
      claims_dropped: dropped,
      parameters: details.parameters,
    },
    quarantined: countReasons(claims),
    warnings: [...warningsOf(details, claims, { over: over.length, dropped, slots }), ...measured.warnings],
    details: JSON.parse(JSON.stringify(details)) as Manifest['details'],
  });
}

/** The vectors, split by question text. Every text is encoded once, before training: an epoch never calls the encoder (known fault P77). */
async function vectors(
  { questions }: ClaimQuestions,
  encoder: TextEncoder,
  options: TrainOptions,
): Promise<{ training: Examples; heldOut: Examples; seen: ReturnType<typeof trainingQuestionLines> }> {
  const texts = [...new Set(questions.flatMap((one) => [one.question, ...one.claims]))];
  const encoded = await encoder.encode(texts, 'query', {
    signal: options.signal,
    onProgress: (done, total) => options.onProgress?.('encoding', done, total),
  });
  const byText = new Map(texts.map((text, at) => [text, encoded[at] as Float32Array]));
  const all: Examples = {
    dimensions: encoder.identity.dimensions,
    questions: questions.map((one) => byText.get(one.question) as Float32Array),
    claims: questions.map((one) => one.claims.map((claim) => byText.get(claim) as Float32Array)),
    evidence: options.evidence && questions.map((one) => options.evidence?.byQuestion.get(one.question)),
  };
  const split = heldOutSplit(
    questions.map((one) => one.question),
    options.heldOut,
    options.seed,
  );
  const textsAt = (indices: readonly number[]): string[] => indices.map((at) => (questions[at] as ClaimQuestion).question);
  return {
    training: chosenExamples(all, split.train),
    heldOut: chosenExamples(all, split.heldOut),
    seen: trainingQuestionLines(textsAt(split.train), textsAt(split.heldOut)),
  };
}

const curvePoint = z.strictObject({ questions: z.int(), cosine: z.nullable(z.number()), best_epoch: z.int() });
type CurvePoint = z.infer<typeof curvePoint>;

/** The same fit on the first n of the training questions in a seeded order, for each n below their number. */
async function learningCurve(
  tf: OpenedTensorFlow['tf'],
  training: Examples,
  heldOut: Examples,
  out: OutputFolder,
  options: TrainOptions,
): Promise<CurvePoint[]> {
  const journal = await out.journal('learning-curve.jsonl', (value) => curvePoint.parse(value));
  const order = random(options.seed, 'drafter', 'learning-curve').shuffle(training.questions.map((_, index) => index));
  const points = [...journal.done];
  for (const questions of options.learningCurve.toSorted((a, b) => a - b).slice(points.length)) {
    if (questions >= training.questions.length) break;
    const { progress } = await fitDrafter(tf, chosenExamples(training, order.slice(0, questions)), heldOut, options, {
      signal: options.signal,
      checkpoints: checkpointsIn(out, `curve-${questions}`, options.checkpointEvery),
      onEpoch: ({ epoch }) => options.onProgress?.(`learning curve, ${questions} questions`, epoch, options.epochs),
    });
    const point = { questions, cosine: progress.bestCosine, best_epoch: progress.bestEpoch };
    await journal.append(point);
    points.push(point);
  }
  return points;
}

function checkpointsIn(out: OutputFolder, name: string, every: number): Checkpoints {
  const file = out.temporary(`${name}.checkpoint`);
  return {
    file,
    every,
    load: () =>
      readFile(file).catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'ENOENT') return undefined;
        throw error;
      }),
    save: (bytes) => writeFileAtomic(file, bytes),
  };
}

function describe(
  tf: OpenedTensorFlow['tf'],
  claims: ClaimQuestions,
  encoder: EncoderIdentity,
  backend: string,
  {
    training,
    heldOut,
    curve,
    fitted,
    frontier,
  }: { training: Examples; heldOut: Examples; curve: CurvePoint[]; fitted: FittedDrafter; frontier: FrontierEntry[] },
  options: TrainOptions,
): DrafterDetails {
  const { model, progress } = fitted;
  const report = heldOutReport(tf, model, training, heldOut, options);
  return {
    encoder,
    claim_source: claims.source,
    claim_text: claims.claimText,
    claim_field: claims.claimField,
    label: LABELS[claims.source],
    backend,
    shape: { ...model.shape, hidden: [...model.shape.hidden], residual: model.residual },
    parameters: parameterCount(model.shape, model.dimensions),
    training: {
      questions: training.questions.length,
      held_out: heldOut.questions.length,
      epochs: progress.epoch,
      best_epoch: progress.bestEpoch,
      steps: progress.step,
      history: progress.history.map(({ epoch, loss, heldOutCosine }) => ({ epoch, loss, held_out_cosine: heldOutCosine })),
    },
    held_out: report,
    learning_curve: [
      ...curve,
      ...(options.learningCurve.length === 0
        ? []
        : [{ questions: training.questions.length, cosine: progress.bestCosine, best_epoch: progress.bestEpoch }]),
    ],
    frontier,
    beatsBaselines: beatsBaselines(report, frontier),
  };
}

const LABELS: { readonly [source in ClaimQuestions['source']]: string } = {
  gold: 'gold-claim drafter (diagnostic)',
  generated: 'drafter of generated claims (CoVeR-D)',
  heuristic: 'drafter of heuristic claims',
  unstated: 'drafter of claims of an unstated source',
};

function heldOutReport(
  tf: OpenedTensorFlow['tf'],
  model: DrafterModel,
  training: Examples,
  heldOut: Examples,
  options: TrainOptions,
): DrafterDetails['held_out'] {
  if (heldOut.questions.length === 0) return null;
  const tensors = parameterTensors(tf, model.shape, model.dimensions, model.parameters);
  const quality = draftQuality(tf, model, tensors, heldOut, options.matching);
  for (const tensor of tensors) tensor.dispose();
  const { meanClaim, question } = baselineQuality(training, heldOut, model.shape.slots);
  return {
    cosine: quality.cosine,
    cosine_per_slot: quality.cosinePerSlot,
    count_accuracy: quality.countAccuracy,
    baselines: { mean_claim: meanClaim, question },
    pairwise_cosine: quality.pairwiseCosine,
    pairwise_cosine_of_claims: quality.pairwiseCosineOfClaims,
    collapsed: collapsed(quality),
  };
}

function settings(claims: ClaimQuestions, identity: EncoderIdentity, backend: string, options: TrainOptions): Manifest['options'] {
  return {
    encoder: `${identity.name} ${sha256(canonicalJson(identity)).slice(0, 32)}`,
    'claim-text': claims.claimText,
    field: claims.claimField,
    source: claims.source,
    backend,
    shape: options.shape.hidden.join('-'),
    slots: options.shape.slots,
    counts: options.shape.counts,
    residual: options.residual,
    dropout: options.dropout,
    'weight-decay': options.weightDecay,
    'learning-rate': options.learningRate,
    batch: options.batch,
    epochs: options.epochs,
    patience: options.patience,
    matching: options.matching,
    'count-weight': options.countWeight,
    'margin-weight': options.evidence ? (options.marginWeight ?? 0) : null,
    'margin-evidence-text': options.evidence?.evidenceText ?? null,
    'held-out': options.heldOut,
    'learning-curve': [...options.learningCurve],
    'measured-on': options.measuredOn ?? null,
  };
}

function countReasons({ setAside }: ClaimQuestions): { [reason: string]: number } {
  const counts: { [reason: string]: number } = {};
  for (const { reason } of setAside) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

function warningsOf(
  details: DrafterDetails,
  claims: ClaimQuestions,
  { over, dropped, slots }: { over: number; dropped: number; slots: number },
): string[] {
  const warnings: string[] = [];
  if (over > 0)
    warnings.push(`${over} of ${claims.questions.length} questions have more than ${slots} claims; ${dropped} claims have no slot`);
  if (claims.emptyClaims > 0) warnings.push(`${claims.emptyClaims} claims have an empty text and are left out`);
  if (claims.repeatedIds > 0) warnings.push(`${claims.repeatedIds} questions have an id that stood before; all of them are trained on`);
  if (details.held_out?.collapsed) {
    warnings.push(
      `collapsed: drafts of different questions are nearly one (mean pairwise cosine ${details.held_out.pairwise_cosine.toFixed(3)}, the claims' is ${details.held_out.pairwise_cosine_of_claims.toFixed(3)})`,
    );
  }
  if (!details.beatsBaselines) {
    warnings.push(
      details.held_out === null
        ? 'no question was held out, so nothing shows that the drafter beats its baselines: beatsBaselines is false'
        : 'the drafter does not beat both baselines (the mean claim vector, the question itself) on held-out questions: beatsBaselines is false',
    );
  }
  return warnings;
}
