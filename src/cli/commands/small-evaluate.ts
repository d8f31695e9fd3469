import { join } from 'node:path';
import { parseForms } from '../../../datasets/index.js';
import { type SmallVerifier, openSmallVerifier, readSmallVerifier } from '../../../runtime/index.js';
import { InputError } from '../../core/errors.js';
import { CLAIM_FORMS, type ClaimForm, type LabelRow, labelColumns } from '../../core/labels.js';
import { MANIFEST_NAME, readManifest, tableSha256 } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { pairOf } from '../../core/pair-features.js';
import { refuseRepeats } from '../../core/repeats.js';
import { readTable } from '../../core/tables.js';
import type { LearntFrom } from '../../core/training-questions.js';
import { type JudgedLabelRow, balancedRows, verifierDifferences, verifierFigures } from '../../evaluate/index.js';
import type { Command, Terminal } from '../command.js';
import { encoderOf, encoderOptions } from '../encoder-flags.js';
import { wholeNumber } from '../number-flags.js';
import { figuresTable, judgedLine } from '../verifier-table.js';

export const smallEvaluate: Command = {
  path: 'small evaluate <model> <labels..>',
  describe: 'macro-F1, confusion and P(gold label) of a small verifier on label rows, with intervals',
  epilogue:
    'Rows of questions that the model was trained on are left out and counted; those of dev questions that chose its epoch are judged, and named. With --out the rows are written too, with what was said of each, so that the ' +
    'same rows can be judged by others.',
  positionals: { model: 'folder of a small verifier', labels: 'folders of label rows' },
  options: {
    ...encoderOptions,
    forms: { type: 'string', describe: 'comma list of claim forms; default: all that the rows have' },
    balance: {
      type: 'boolean',
      default: false,
      describe: 'equal classes in each dataset and form: undersampled to the smallest, by --seed',
    },
    against: { type: 'string', describe: 'another small verifier, compared on the same rows' },
    resamples: { type: 'number', default: 10_000, describe: 'of the bootstrap over questions' },
  },
  run: async (args, terminal) => {
    const forms = args.forms === undefined ? CLAIM_FORMS : parseForms(args.forms as string);
    const resamples = wholeNumber('resamples', args.resamples, 39);
    const model = args.model as string;
    const against = args.against as string | undefined;
    const labels = args.labels as string[];
    const models = [model, ...(against === undefined ? [] : [against])];
    const opened = await Promise.all(models.map(readSmallVerifier));
    const learnt = mostLearnt(opened.map((one) => one.learntFrom));
    const { rows: read, trainedOn } = await readRows(labels, forms, learnt);
    const rows = args.balance === true ? balancedRows(read, args.seed) : read;
    if (rows.length === 0)
      throw new InputError(
        `no row of the forms ${forms.join(', ')} to judge${trainedOn === 0 ? '' : ` (${trainedOn} are of questions that were trained on)`}`,
        { file: labels.join(', ') },
      );
    const choseEpoch = rows.filter((row) => learnt(row.question) === 'epoch').length;
    const warnings = learntWarnings({ trainedOn, choseEpoch, rows: rows.length });
    const encoder = await encoderOf(args, opened[0]?.details.encoder.name);
    const verifiers: SmallVerifier[] = [];
    try {
      const judged: JudgedLabelRow[][] = [];
      for (const folder of models) {
        const verifier = await openSmallVerifier(folder, encoder);
        verifiers.push(verifier);
        judged.push(await judge(verifier, rows, terminal));
      }
      const [first, second] = judged as [JudgedLabelRow[], JudgedLabelRow[] | undefined];
      const figures = verifierFigures(first, { seed: args.seed, resamples });
      const differences = second && verifierDifferences(first, second, { seed: args.seed, resamples });
      terminal.print(figuresTable(figures, differences && { title: 'minus --against', differences }));
      const out = args.out === undefined ? null : args.out;
      if (choseEpoch > 0) terminal.print(epochWords(choseEpoch, rows.length));
      const counts = {
        rows: rows.length,
        rows_left_out_by_balance: read.length - rows.length,
        rows_trained_on: trainedOn,
        rows_that_chose_the_epoch: choseEpoch,
      };
      if (out !== null) {
        const folder = await openOutputFolder({
          dir: out,
          kind: 'small-verifier-evaluation',
          command: 'small evaluate',
          options: { forms: [...forms], balance: args.balance === true, resamples },
          seed: args.seed,
          inputs: [...models, ...labels].map((one) => join(one, MANIFEST_NAME)),
          resume: args.resume,
          force: args.force,
        });
        if (!folder.finished) {
          await folder.file('report.json', `${JSON.stringify({ figures, differences: differences ?? null }, null, 2)}\n`);
          await folder.jsonl('rows.jsonl', first.map(judgedLine));
          await folder.finish({ counts, warnings });
        }
      }
      return { out, counts, quarantined: {}, warnings, figures, differences: differences ?? null };
    } finally {
      for (const one of verifiers) await one.close();
      await encoder.close();
    }
  },
};

/** What a question did for any of some models: training goes before choosing an epoch. */
function mostLearnt(models: readonly LearntFrom[]): LearntFrom {
  return (question) => {
    const uses = models.map((learntFrom) => learntFrom(question));
    return uses.includes('training') ? 'training' : (uses.find((one) => one !== null) ?? null);
  };
}

async function readRows(
  folders: readonly string[],
  forms: readonly ClaimForm[],
  learnt: LearntFrom,
): Promise<{ rows: LabelRow[]; trainedOn: number }> {
  const rows: LabelRow[] = [];
  let trainedOn = 0;
  const read: { file: string; sha256: string }[] = [];
  for (const folder of folders) {
    const manifest = await readManifest(folder, 'labels');
    read.push({ file: folder, sha256: tableSha256(folder, manifest, 'labels') });
    refuseRepeats(read);
    for await (const row of readTable(folder, manifest, 'labels', labelColumns)) {
      if (!forms.includes(row.form)) continue;
      if (learnt(row.question) === 'training') trainedOn++;
      else rows.push(row);
    }
  }
  return { rows, trainedOn };
}

function learntWarnings({ trainedOn, choseEpoch, rows }: { trainedOn: number; choseEpoch: number; rows: number }): string[] {
  return [
    ...(trainedOn > 0 ? [`${trainedOn} rows are of questions that were trained on, and are left out`] : []),
    ...(choseEpoch > 0 ? [epochWords(choseEpoch, rows)] : []),
  ];
}

function epochWords(choseEpoch: number, rows: number): string {
  return `${choseEpoch} of ${rows} rows are of dev questions that chose the epoch of training: figures on them are not those of held-out rows`;
}

async function judge(verifier: SmallVerifier, rows: readonly LabelRow[], terminal: Terminal): Promise<JudgedLabelRow[]> {
  const bar = terminal.progress('judging');
  const judged: JudgedLabelRow[] = [];
  for (let from = 0; from < rows.length; from += 512) {
    const part = rows.slice(from, from + 512);
    const scores = await verifier.score(part.map(pairOf), { signal: terminal.signal });
    for (const [at, { lp_match, lp_partial, lp_null }] of scores.entries())
      judged.push({ row: part[at] as LabelRow, probabilities: [lp_match, lp_partial, lp_null].map(Math.exp) });
    bar.update(judged.length, rows.length);
  }
  bar.done();
  return judged;
}
