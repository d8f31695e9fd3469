import { type ClassReport, classReport } from '../src/core/class-report.js';
import { CLAIM_FORMS, type ClaimForm, type LabelRow } from '../src/core/labels.js';
import type { Manifest } from '../src/core/manifest.js';
import { openOutputFolder } from '../src/core/output-folder.js';
import { PAIR_FEATURES_VERSION, type PairFeatureSet } from '../src/core/pair-features.js';
import { SMALL_VERIFIER_ONNX, SMALL_VERIFIER_WEIGHTS, type SmallVerifierDetails } from '../src/core/small-verifier.js';
import type { PairRows } from '../src/core/pair-rows.js';
import { encodedPairs } from './pair-examples.js';
import { TRAINING_QUESTIONS, trainingQuestionLines } from '../src/core/training-questions.js';
import { type PairExamples, type SmallFitOptions, fitSmallVerifier, judgeExamples } from './small-fit.js';
import { smallOnnx, smallSafetensors } from './small-model.js';
import type { OpenedTensorFlow } from './tensorflow.js';
import type { TextEncoder } from './train-drafter.js';

export interface SmallTrainOptions extends SmallFitOptions {
  dir: string;
  evidenceText: PairFeatureSet['evidence_text'];
  /** Whether the head may see that the evidence page's title equals the claim's page. */
  titleMatch: boolean;
  resume?: boolean | undefined;
  force?: boolean | undefined;
  signal?: AbortSignal | undefined;
  /** Which stage it is in, with how far it is. */
  onProgress?: ((stage: string, done: number, total: number | null) => void) | undefined;
}

/**
 * Trains the small verifier on label rows and writes a folder of kind `small-verifier`: `small-verifier.onnx`,
 * `small-verifier.safetensors`, `training-questions.jsonl` and the manifest with its held-out report. The rows' dev splits decide when to stop. An interrupted run
 * begins its training anew and ends with the same bytes; what was encoded is in the encoder's cache.
 */
export async function trainSmallVerifier(
  rows: PairRows,
  encoder: TextEncoder,
  { tf, backend }: OpenedTensorFlow,
  options: SmallTrainOptions,
): Promise<Manifest> {
  const { hidden, dropout, weightDecay, learningRate, batch, epochs, patience, evidenceText, titleMatch, seed } = options;
  const features: PairFeatureSet = { version: PAIR_FEATURES_VERSION, evidence_text: evidenceText, title_match: titleMatch };
  const forms = CLAIM_FORMS.filter((form) => rows.training.some((row) => row.form === form));
  const out = await openOutputFolder({
    dir: options.dir,
    kind: 'small-verifier',
    command: 'small train',
    options: {
      encoder: { ...encoder.identity },
      forms,
      'evidence-text': evidenceText,
      'title-match': titleMatch,
      hidden: [...hidden],
      dropout,
      'weight-decay': weightDecay,
      'learning-rate': learningRate,
      batch,
      epochs,
      patience,
      backend,
    },
    seed,
    inputs: rows.inputs,
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return out.finished;
  const [training, heldOut] = (await encodedPairs([rows.training, rows.heldOut], encoder, features, {
    signal: options.signal,
    onProgress: (done, total) => options.onProgress?.('encoding', done, total),
  })) as [PairExamples, PairExamples];
  const fitted = await fitSmallVerifier(tf, training, heldOut, options, {
    signal: options.signal,
    onEpoch: (epoch) => options.onProgress?.('training', epoch, epochs),
  });
  const details: SmallVerifierDetails = {
    encoder: encoder.identity,
    features,
    forms,
    datasets: [...new Set(rows.training.map((row) => row.dataset))],
    backend,
    hidden: [...hidden],
    parameters: fitted.model.parameters.reduce((sum, one) => sum + one.length, 0),
    training: {
      rows: rows.training.length,
      questions: questionsOf(rows.training),
      held_out_rows: rows.heldOut.length,
      held_out_questions: questionsOf(rows.heldOut),
      epochs: fitted.epochs,
      best_epoch: fitted.bestEpoch,
      steps: fitted.steps,
      history: fitted.history.map((one) => ({ epoch: one.epoch, loss: one.loss, held_out_macro_f1: one.heldOut })),
    },
    held_out: reports(rows.heldOut, judgeExamples(tf, fitted.model, heldOut)),
  };
  await out.file(SMALL_VERIFIER_WEIGHTS, smallSafetensors(fitted.model));
  await out.file(SMALL_VERIFIER_ONNX, smallOnnx(fitted.model));
  const texts = (of: readonly LabelRow[]): string[] => of.map((row) => row.question);
  await out.jsonl(TRAINING_QUESTIONS, trainingQuestionLines(texts(rows.training), texts(rows.heldOut)));
  return out.finish({
    counts: {
      rows: { train: rows.training.length, dev: rows.heldOut.length },
      rows_of_other_forms: rows.leftOut,
      parameters: details.parameters,
    },
    warnings: warningsOf(details),
    details: JSON.parse(JSON.stringify(details)) as Manifest['details'],
  });
}

function reports(
  rows: readonly LabelRow[],
  judged: readonly { gold: number; probabilities: ArrayLike<number> }[],
): SmallVerifierDetails['held_out'] {
  const groups = new Map<string, { dataset: string; form: ClaimForm; of: { gold: number; probabilities: ArrayLike<number> }[] }>();
  for (const [at, { dataset, form }] of rows.entries()) {
    const key = `${dataset}/${form}`;
    const group = groups.get(key) ?? { dataset, form, of: [] };
    groups.set(key, group);
    const { gold, probabilities } = judged[at] as (typeof group.of)[number];
    group.of.push({ gold, probabilities });
  }
  return [...groups.values()].map(({ dataset, form, of }) => ({ dataset, form, report: classReport(of) satisfies ClassReport }));
}

function warningsOf({ held_out, forms, features }: SmallVerifierDetails): string[] {
  const warnings: string[] = [];
  if (held_out.length === 0)
    warnings.push('the label rows have no dev split: nothing was held out, so every epoch was run and nothing was measured');
  if (forms.length === 1)
    warnings.push(
      `trained on the form ${forms[0]} alone: on claims worded otherwise, as generated ones are, it will do worse (labels build --forms)`,
    );
  if (features.title_match)
    warnings.push(
      'with --title-match: on gold claims the title alone tells null from the other labels, so figures on gold claims say little',
    );
  return warnings;
}

function questionsOf(rows: readonly LabelRow[]): number {
  return new Set(rows.map((row) => `${row.dataset}/${row.row}/${row.question_id}`)).size;
}
