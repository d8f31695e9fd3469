import { join } from 'node:path';
import { parseForms } from '../../../datasets/index.js';
import { type SmallVerifier, openSmallVerifier, readSmallVerifier } from '../../../runtime/index.js';
import { InputError } from '../../core/errors.js';
import { hashFile } from '../../core/hash.js';
import { CLAIM_FORMS, type ClaimForm, type LabelRow, labelColumns } from '../../core/labels.js';
import { MANIFEST_NAME, readManifest } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { pairOf } from '../../core/pair-features.js';
import { readTable } from '../../core/tables.js';
import { type JudgedLabelRow, balancedRows, verifierDifferences, verifierFigures } from '../../evaluate/index.js';
import type { Command, Terminal } from '../command.js';
import { encoderOf, encoderOptions } from '../encoder-flags.js';
import { wholeNumber } from '../number-flags.js';
import { figuresTable, judgedLine } from '../verifier-table.js';

export const smallEvaluate: Command = {
  path: 'small evaluate <model> <labels..>',
  describe: 'macro-F1, confusion and P(gold label) of a small verifier on label rows, with intervals',
  epilogue:
    'Of a folder that the model was trained on only the dev rows are read. With --out the rows are written too, with what was said of each, so that the ' +
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
    const trained = await trainedOn([model, ...(against === undefined ? [] : [against])]);
    const read = await readRows(labels, forms, trained, terminal);
    const rows = args.balance === true ? balancedRows(read, args.seed) : read;
    if (rows.length === 0) throw new InputError(`no row of the forms ${forms.join(', ')} to judge`, { file: labels.join(', ') });
    const encoder = await encoderOf(args, (await readSmallVerifier(model)).details.encoder.name);
    const verifiers: SmallVerifier[] = [];
    try {
      const judged: JudgedLabelRow[][] = [];
      for (const folder of [model, ...(against === undefined ? [] : [against])]) {
        const verifier = await openSmallVerifier(folder, encoder);
        verifiers.push(verifier);
        judged.push(await judge(verifier, rows, terminal));
      }
      const [first, second] = judged as [JudgedLabelRow[], JudgedLabelRow[] | undefined];
      const figures = verifierFigures(first, { seed: args.seed, resamples });
      const differences = second && verifierDifferences(first, second, { seed: args.seed, resamples });
      terminal.print(figuresTable(figures, differences && { title: 'minus --against', differences }));
      const out = args.out === undefined ? null : args.out;
      const counts = { rows: rows.length, rows_left_out_by_balance: read.length - rows.length };
      if (out !== null) {
        const folder = await openOutputFolder({
          dir: out,
          kind: 'small-verifier-evaluation',
          command: 'small evaluate',
          options: { forms: [...forms], balance: args.balance === true, resamples },
          seed: args.seed,
          inputs: [model, ...(against === undefined ? [] : [against]), ...labels].map((one) => join(one, MANIFEST_NAME)),
          resume: args.resume,
          force: args.force,
        });
        if (!folder.finished) {
          await folder.file('report.json', `${JSON.stringify({ figures, differences: differences ?? null }, null, 2)}\n`);
          await folder.jsonl('rows.jsonl', first.map(judgedLine));
          await folder.finish({ counts });
        }
      }
      return { out, counts, quarantined: {}, warnings: [], figures, differences: differences ?? null };
    } finally {
      for (const one of verifiers) await one.close();
      await encoder.close();
    }
  },
};

/** sha256 of the label folders' manifests that models were trained on. */
async function trainedOn(models: readonly string[]): Promise<Set<string>> {
  const known = new Set<string>();
  for (const model of models) for (const { sha256 } of (await readManifest(model, 'small-verifier')).inputs) known.add(sha256);
  return known;
}

async function readRows(
  folders: readonly string[],
  forms: readonly ClaimForm[],
  trained: ReadonlySet<string>,
  terminal: Terminal,
): Promise<LabelRow[]> {
  const rows: LabelRow[] = [];
  for (const folder of folders) {
    const manifest = await readManifest(folder, 'labels');
    const seen = trained.has((await hashFile(join(folder, MANIFEST_NAME))).sha256);
    if (seen) terminal.note(`${folder}: trained on, so only its dev rows are judged`);
    for await (const row of readTable(folder, manifest, 'labels', labelColumns))
      if (forms.includes(row.form) && !(seen && row.split === 'train')) rows.push(row);
  }
  return rows;
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
