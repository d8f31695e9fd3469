import { parseForms } from '../../../datasets/index.js';
import { BACKENDS, type BackendChoice, openTensorFlow, readPairRows, trainSmallVerifier } from '../../../distill/index.js';
import { EVIDENCE_TEXTS, type EvidenceText } from '../../core/embeddings.js';
import { InputError, shown } from '../../core/errors.js';
import { smallVerifierDetails } from '../../core/small-verifier.js';
import { figure, textTable } from '../../evaluate/index.js';
import type { Command } from '../command.js';
import { encoderOf, encoderOptions } from '../encoder-flags.js';
import { numberIn, wholeNumber } from '../number-flags.js';
import { stagedProgress } from '../staged-progress.js';
import { outFolder } from './input-options.js';

export const smallTrain: Command = {
  path: 'small train <labels..>',
  describe: 'trains the small verifier on label rows: a head over an encoder, no GPU needed',
  epilogue:
    'LABELS are folders that labels build made; their dev rows decide when training ends. Every text is encoded once, into the cache.',
  positionals: { labels: 'folders of label rows' },
  options: {
    ...encoderOptions,
    forms: { type: 'string', describe: 'comma list: train on rows of these claim forms only; default: all that the rows have' },
    'evidence-text': { type: 'string', choices: EVIDENCE_TEXTS, default: EVIDENCE_TEXTS[0], describe: 'what of the evidence is encoded' },
    'title-match': {
      type: 'boolean',
      default: false,
      describe: "also a feature: the evidence page's title is the claim's page (on gold claims it gives null away)",
    },
    hidden: { type: 'string', default: '64', describe: 'widths of the hidden layers, a comma list' },
    dropout: { type: 'number', default: 0.4, describe: 'share of hidden values zeroed in a step' },
    epochs: { type: 'number', default: 30, describe: 'passes over the training rows, at most' },
    patience: { type: 'number', default: 4, describe: 'epochs without a better held-out macro-F1 that end training; 0: never' },
    batch: { type: 'number', default: 256, describe: 'rows a step' },
    'learning-rate': { type: 'number', default: 0.001, describe: "of Adam's steps" },
    'weight-decay': { type: 'number', default: 0.01, describe: 'decoupled weight decay' },
    backend: {
      type: 'string',
      choices: ['auto', ...BACKENDS],
      default: 'auto',
      describe: 'gpu: @tensorflow/tfjs-node-gpu, cpu: @tensorflow/tfjs-node, where installed; wasm; js',
    },
  },
  run: async (args, terminal) => {
    const dir = outFolder(args.out);
    const forms = args.forms === undefined ? undefined : parseForms(args.forms as string);
    const options = {
      hidden: widths(args.hidden as string),
      dropout: numberIn('dropout', args.dropout, [0, 0.95]),
      epochs: wholeNumber('epochs', args.epochs),
      patience: wholeNumber('patience', args.patience, 0),
      batch: wholeNumber('batch', args.batch),
      learningRate: numberIn('learning-rate', args['learning-rate'], [1e-9, 10]),
      weightDecay: numberIn('weight-decay', args['weight-decay'], [0, 10]),
      evidenceText: args['evidence-text'] as EvidenceText,
      titleMatch: args['title-match'] as boolean,
    };
    const rows = await readPairRows(args.labels as string[], forms);
    const opened = await openTensorFlow(args.backend as BackendChoice);
    terminal.note(`backend ${opened.backend} (${opened.why})`);
    const encoder = await encoderOf(args);
    const shown = stagedProgress(terminal);
    try {
      const manifest = await trainSmallVerifier(rows, encoder, opened, {
        ...options,
        dir,
        seed: args.seed,
        resume: args.resume,
        force: args.force,
        signal: terminal.signal,
        onProgress: (...at) => shown.update(...at),
      });
      shown.done();
      const details = smallVerifierDetails.parse(manifest.details);
      const { training } = details;
      terminal.print(
        `${details.parameters} parameters over ${details.encoder.name}; ${training.rows} rows of ${training.questions} questions, ` +
          `${training.epochs} epochs (the weights of epoch ${training.best_epoch}), ${training.steps} steps on ${details.backend}`,
      );
      if (details.held_out.length > 0) {
        const lines = details.held_out.map(({ dataset, form, report }) => [
          `${dataset} ${form}`,
          String(report.rows),
          figure(report.macro_f1),
          ...Object.values(report.p_gold).map((one) => figure(one)),
        ]);
        terminal.print(textTable(['held out', 'rows', 'macro-F1', 'P(match)', 'P(partial)', 'P(null)'], lines));
      }
      terminal.print(dir);
      return {
        out: dir,
        counts: manifest.counts,
        quarantined: {},
        warnings: manifest.warnings,
        backend: { ran: opened.backend, why: opened.why },
        encoded: { ...encoder.counts },
        forms: details.forms,
        held_out: details.held_out,
        training: { ...training, history: undefined },
      };
    } finally {
      shown.done();
      await encoder.close();
    }
  },
};

function widths(text: string): number[] {
  const values = text.split(',').map((one) => Number(one.trim() === '' ? NaN : one));
  if (values.some((one) => !Number.isSafeInteger(one) || one < 1))
    throw new InputError(`--hidden: got ${shown(text)}, expected a comma list of whole numbers of at least 1`);
  return values;
}
