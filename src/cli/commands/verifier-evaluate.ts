import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseForms } from '../../../datasets/index.js';
import type { PairVerifier } from '../../../runtime/index.js';
import { InputError, shown } from '../../core/errors.js';
import { CLAIM_FORMS, type ClaimForm, type LabelRow, labelColumns } from '../../core/labels.js';
import { MANIFEST_NAME, checkedFile, readManifest } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { readTable } from '../../core/tables.js';
import { VERIFIER_FIELDS, type VerifierFields, fieldsOf } from '../../core/verifier-fields.js';
import {
  type AblationWishes,
  type JudgedLabelRow,
  type PageOverlap,
  type VerifierDifference,
  type VerifierFigures,
  ablations,
  balancedRows,
  pageOverlap,
  textTable,
  verifierDifferences,
  verifierFigures,
} from '../../evaluate/index.js';
import type { Command, Terminal } from '../command.js';
import { resultOf } from '../finished.js';
import { wholeNumber } from '../number-flags.js';
import { type VerifierFlags, cutWarnings, verifierFolder, verifierOf, verifierOptions } from '../verifier-flags.js';
import { figuresTable, interval, judgedLine } from '../verifier-table.js';

export const verifierEvaluate: Command = {
  path: 'verifier evaluate <model>',
  describe: 'macro-F1, confusion and P(gold label) of a trained verifier on dev rows, per claim form, with ablations',
  epilogue:
    'Only dev rows are judged. P(gold) is the share of the three labels’ probability that the row’s own label has. An ablation’s column is its ' +
    'macro-F1 minus that of the rows as they are, with the interval of the paired difference.',
  positionals: { model: 'a verifier’s folder, or its name among the models' },
  options: {
    labels: { type: 'string', array: true, demandOption: true, describe: 'folders of label rows' },
    forms: { type: 'string', describe: 'comma list of claim forms; default: all that the rows have' },
    balance: {
      type: 'boolean',
      default: false,
      describe: 'equal classes in each dataset and form: undersampled to the smallest, by --seed',
    },
    'mask-target': { type: 'boolean', default: false, describe: 'ablation: the expected target masked wherever it stands' },
    drop: { type: 'string', array: true, describe: `ablation, one for each field: its line is left empty (${VERIFIER_FIELDS.join(', ')})` },
    'lower-case': { type: 'boolean', default: false, describe: 'ablation: the sentence in lower case' },
    'shuffle-words': { type: 'boolean', default: false, describe: "ablation: the sentence's words in random order" },
    'random-claim': {
      type: 'string',
      array: true,
      choices: ['other-page', 'keep-page'],
      describe: "ablation: another question's claim, with its page or with the row's own",
    },
    'page-overlap': { type: 'string', array: true, describe: 'folders of training rows: which expected pages are theirs too' },
    cross: { type: 'string', array: true, describe: 'folders of label rows of another dataset, beside --labels' },
    against: { type: 'string', describe: 'another verifier, judged on the same rows (with --cross: both ways)' },
    resamples: { type: 'number', default: 10_000, describe: 'of the bootstrap over questions' },
    'model-dir': { type: 'string', describe: 'where named models are; default: $HOPGATE_HOME/models' },
    ...verifierOptions,
  },
  run: async (args, terminal) => {
    const forms = args.forms === undefined ? CLAIM_FORMS : parseForms(args.forms as string);
    const resamples = wholeNumber('resamples', args.resamples, 39);
    const flags = args as VerifierFlags;
    const against = args.against as string | undefined;
    const models = [args.model as string, ...(against === undefined ? [] : [against])];
    const [labels, cross, trained] = [list(args.labels), list(args.cross), list(args['page-overlap'])];
    const wishes: AblationWishes = {
      maskTarget: args['mask-target'] === true,
      drop: list(args.drop)
        .flatMap((one) => one.split(','))
        .map(field),
      lowerCase: args['lower-case'] === true,
      shuffleWords: args['shuffle-words'] === true,
      randomClaim: list(args['random-claim']) as AblationWishes['randomClaim'],
    };
    const rowsOf = async (folders: readonly string[]): Promise<LabelRow[]> => {
      const read = await devRows(folders, forms);
      return args.balance === true ? balancedRows(read, args.seed) : read;
    };
    const [rows, crossRows] = [await rowsOf(labels), cross.length === 0 ? [] : await rowsOf(cross)];
    const wished = ablations(rows, wishes, args.seed);
    const folders = await Promise.all(models.map((model) => verifierFolder(model, flags['model-dir'])));
    const out =
      args.out === undefined
        ? undefined
        : await openOutputFolder({
            dir: args.out,
            kind: 'verifier-evaluation',
            command: 'verifier evaluate',
            options: {
              forms: [...forms],
              balance: args.balance === true,
              ablations: wished.map(({ name }) => name),
              // With these, the flat list of inputs says which of them is what.
              labels: labels.length,
              cross: cross.length,
              'page-overlap': trained.length,
              against: against !== undefined,
              variant: flags.variant ?? null,
              'server-model': flags['server-model'] ?? null,
              resamples,
            },
            seed: args.seed,
            inputs: [...folders, ...labels, ...cross, ...trained].map((one) => join(one, MANIFEST_NAME)),
            resume: args.resume,
            force: args.force,
          });
    if (out?.finished) {
      const stored = JSON.parse(await readFile(await checkedFile(out.dir, out.finished, 'report.json'), 'utf8')) as Report;
      printReport(stored, terminal);
      return { ...resultOf(out.dir, out.finished), ...stored };
    }
    const drawn = { seed: args.seed, resamples };
    const judgements: Judgement[] = [];
    let cut = 0;
    for (const [at, model] of models.entries()) {
      const verifier = await verifierOf(flags, model, terminal);
      try {
        const judged = await judge(verifier, rows, { fields: fieldsOf, label: 'judging', terminal });
        const judgedCross = await judge(verifier, crossRows, { fields: fieldsOf, label: 'judging --cross', terminal });
        judgements.push({ model, rows: judged, cross: judgedCross, ablated: [] });
        // Ablations are of the first model alone.
        for (const { name, fields } of at === 0 ? wished : [])
          judgements[0]?.ablated.push({ name, rows: await judge(verifier, rows, { fields, label: name, terminal }) });
      } finally {
        cut += verifier.counts().cut_prompts ?? 0;
        await verifier.close();
      }
    }
    const overlap = trained.length === 0 ? null : pageOverlap(await trainRows(trained), rows);
    const report = reportOf(judgements, { ...drawn, overlap });
    printReport(report, terminal);
    const counts = { rows: rows.length, cross_rows: crossRows.length, cut_prompts: cut };
    const warnings = cutWarnings(cut);
    if (!out) return { out: null, counts, quarantined: {}, warnings, ...report };
    await out.file('report.json', `${JSON.stringify(report, null, 2)}\n`);
    await out.jsonl('rows.jsonl', (judgements[0] as Judgement).rows.map(judgedLine));
    return { ...resultOf(out.dir, await out.finish({ counts, warnings })), ...report };
  },
};

interface Judgement {
  model: string;
  rows: JudgedLabelRow[];
  cross: JudgedLabelRow[];
  ablated: { name: string; rows: JudgedLabelRow[] }[];
}

interface Report {
  figures: VerifierFigures[];
  cross: VerifierFigures[] | null;
  ablations: { name: string; figures: VerifierFigures[]; differences: VerifierDifference[] }[];
  against: { figures: VerifierFigures[]; differences: VerifierDifference[]; cross: VerifierFigures[] | null } | null;
  page_overlap: PageOverlap | null;
}

function reportOf(
  judgements: readonly Judgement[],
  { overlap, ...drawn }: { seed: number; resamples: number; overlap: PageOverlap | null },
): Report {
  const [first, second] = judgements as [Judgement, Judgement | undefined];
  const crossOf = (one: Judgement): VerifierFigures[] | null => (one.cross.length === 0 ? null : verifierFigures(one.cross, drawn));
  return {
    figures: verifierFigures(first.rows, drawn),
    cross: crossOf(first),
    ablations: first.ablated.map(({ name, rows }) => ({
      name,
      figures: verifierFigures(rows, drawn),
      differences: verifierDifferences(rows, first.rows, drawn),
    })),
    against: second
      ? {
          figures: verifierFigures(second.rows, drawn),
          differences: verifierDifferences(first.rows, second.rows, drawn),
          cross: crossOf(second),
        }
      : null,
    page_overlap: overlap,
  };
}

function printReport({ figures, cross, ablations: ablated, against, page_overlap: overlap }: Report, terminal: Terminal): void {
  terminal.print(figuresTable(figures, against ? { title: 'minus --against', differences: against.differences } : undefined));
  for (const { dataset, form, report } of figures)
    terminal.print(`confusion of ${dataset} ${form} (rows of match, partial, null as they were said): ${JSON.stringify(report.confusion)}`);
  if (cross) terminal.print(`\n--cross\n${figuresTable(cross)}`);
  if (against) terminal.print(`\n--against\n${figuresTable(against.figures)}`);
  if (against?.cross) terminal.print(`\n--against on --cross\n${figuresTable(against.cross)}`);
  if (ablated.length > 0) {
    const lines = ablated.flatMap(({ name, figures: own, differences }) =>
      own.map(({ dataset, form, macroF1 }, at) => [
        name,
        `${dataset} ${form}`,
        interval(macroF1),
        interval((differences[at] as VerifierDifference).difference),
      ]),
    );
    terminal.print(`\n${textTable(['ablation', 'dataset form', 'macro-F1 [95%]', 'minus the rows as they are'], lines)}`);
  }
  if (overlap)
    terminal.print(
      `\nexpected pages that training rows have too: ${overlap.shared_pages} of ${overlap.pages}; questions with any: ` +
        `${overlap.questions_with_any} of ${overlap.questions}, with all: ${overlap.questions_with_all}`,
    );
}

async function judge(
  verifier: PairVerifier,
  rows: readonly LabelRow[],
  { fields, label, terminal }: { fields: (row: LabelRow) => VerifierFields; label: string; terminal: Terminal },
): Promise<JudgedLabelRow[]> {
  if (rows.length === 0) return [];
  const bar = terminal.progress(label);
  try {
    const scores = await verifier.score(rows.map(fields), {
      signal: terminal.signal,
      onProgress: (done, total) => bar.update(done, total),
    });
    verifier.release();
    return scores.map(({ lp_match, lp_partial, lp_null }, at) => ({
      row: rows[at] as LabelRow,
      probabilities: shares([lp_match, lp_partial, lp_null]),
    }));
  } finally {
    bar.done();
  }
}

/** The labels' shares of their common probability; equal scores stay equal. */
function shares(logprobs: readonly number[]): number[] {
  const most = Math.max(...logprobs);
  const weights = logprobs.map((one) => Math.exp(one - most));
  const total = weights.reduce((sum, one) => sum + one, 0);
  return weights.map((one) => one / total);
}

async function devRows(folders: readonly string[], forms: readonly ClaimForm[]): Promise<LabelRow[]> {
  const rows: LabelRow[] = [];
  for (const folder of folders)
    for await (const row of readTable(folder, await readManifest(folder, 'labels'), 'labels', labelColumns))
      if (row.split === 'dev' && forms.includes(row.form)) rows.push(row);
  if (rows.length === 0) throw new InputError(`no dev row of the forms ${forms.join(', ')} to judge`, { file: folders.join(', ') });
  return rows;
}

async function trainRows(folders: readonly string[]): Promise<LabelRow[]> {
  const rows: LabelRow[] = [];
  for (const folder of folders)
    for await (const row of readTable(folder, await readManifest(folder, 'labels'), 'labels', labelColumns))
      if (row.split === 'train') rows.push(row);
  return rows;
}

function list(value: unknown): string[] {
  return value === undefined ? [] : (value as string[]);
}

function field(name: string): keyof VerifierFields {
  const known = VERIFIER_FIELDS.find((one) => one === name);
  if (known === undefined) throw new InputError(`--drop: got ${shown(name)}, expected one of ${VERIFIER_FIELDS.join(', ')}`);
  return known;
}
