import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { type LabelScores, type PairVerifier, labelOf } from '../../../runtime/index.js';
import { InputError } from '../../core/errors.js';
import { readJsonLines } from '../../core/jsonl.js';
import { labelColumns } from '../../core/labels.js';
import { MANIFEST_NAME, readManifest } from '../../core/manifest.js';
import { type TableFormat, openOutputFolder } from '../../core/output-folder.js';
import { readTable } from '../../core/tables.js';
import { type VerifierFields, fieldsOf, verifierFields } from '../../core/verifier-fields.js';
import { type VerifierScore, verifierScoreColumns } from '../../core/verifier-scores.js';
import type { Command, Terminal } from '../command.js';
import { resultOf } from '../finished.js';
import { type VerifierFlags, cutWarnings, verifierFolder, verifierOf, verifierOptions } from '../verifier-flags.js';
import { formatOption, outFolder } from './input-options.js';

/** Pairs that are scored between two entries of the journal. */
const CHUNK = 256;

export const verifierScore: Command = {
  path: 'verifier score <model> <rows>',
  describe: 'log-probabilities of the three labels for pairs of claim and sentence',
  epilogue:
    'ROWS is a folder of label rows, or a file of JSON lines with the eight fields of the prompt: question, answer_candidate, expected_claim, ' +
    'expected_page, expected_target, expected_target_role, evidence_page, evidence_sentence.',
  positionals: { model: 'a verifier’s folder, or its name among the models', rows: 'folder of label rows, or JSON lines' },
  options: {
    'model-dir': { type: 'string', describe: 'where named models are; default: $HOPGATE_HOME/models' },
    ...verifierOptions,
    ...formatOption,
  },
  ignores: { seed: 'this command draws nothing' },
  run: async (args, terminal) => {
    const dir = outFolder(args.out);
    const [model, source] = [args.model as string, args.rows as string];
    const flags = args as VerifierFlags;
    const pairs = await readPairs(source);
    if (pairs.length === 0) throw new InputError('no pair to score', { file: source });
    const folder = await verifierFolder(model, flags['model-dir']);
    const verifier = await verifierOf(flags, model, terminal);
    try {
      const isFolder = (await stat(source)).isDirectory();
      const out = await openOutputFolder({
        dir,
        kind: 'verifier-scores',
        command: 'verifier score',
        options: { verifier: verifier.identity, format: args.format as string },
        seed: args.seed,
        inputs: [join(folder, MANIFEST_NAME), isFolder ? join(source, MANIFEST_NAME) : source],
        resume: args.resume,
        force: args.force,
      });
      if (out.finished) return resultOf(dir, out.finished);
      await verifier.prepare();
      const journal = await out.journal('scores.journal', (value) => journalEntry.parse(value));
      const { scores, cut } = await scored(verifier, pairs, { journal, terminal });
      const labels = { match: 0, partial: 0, null: 0 };
      const rows = pairs.map(({ place }, at): VerifierScore => {
        const own = scores[at] as LabelScores;
        const said = labelOf(own);
        labels[said]++;
        return { ...place, ...own, said };
      });
      await out.table('scores', verifierScoreColumns, rows, args.format as TableFormat);
      const done = await out.finish({
        counts: { pairs: rows.length, said: labels, cut_prompts: cut },
        warnings: cutWarnings(cut),
        details: { verifier: verifier.identity },
      });
      terminal.print(`${rows.length} pairs: ${labels.match} match, ${labels.partial} partial, ${labels.null} null; in ${dir}`);
      return { ...resultOf(dir, done), read: verifier.counts() };
    } finally {
      await verifier.close();
    }
  },
};

const journalEntry = z.strictObject({ scores: z.array(z.tuple([z.number(), z.number(), z.number()])), cut: z.int() });

interface PlacedPair {
  fields: VerifierFields;
  place: Omit<VerifierScore, keyof LabelScores | 'said'>;
}

/** Scores in chunks that are kept as soon as they are done; nothing is shared between two of them but the system text. */
async function scored(
  verifier: PairVerifier,
  pairs: readonly PlacedPair[],
  {
    journal,
    terminal,
  }: {
    journal: { done: readonly z.infer<typeof journalEntry>[]; append(entry: z.infer<typeof journalEntry>): Promise<void> };
    terminal: Terminal;
  },
): Promise<{ scores: LabelScores[]; cut: number }> {
  let cut = journal.done.reduce((sum, one) => sum + one.cut, 0);
  const scores: LabelScores[] = journal.done
    .flatMap((one) => one.scores)
    .map(([match, partial, nothing]) => ({ lp_match: match, lp_partial: partial, lp_null: nothing }));
  const bar = terminal.progress('scoring');
  try {
    while (scores.length < pairs.length) {
      const from = scores.length;
      const cutBefore = verifier.counts().cut_prompts ?? 0;
      const part = await verifier.score(
        pairs.slice(from, from + CHUNK).map(({ fields }) => fields),
        { signal: terminal.signal, onProgress: (done) => bar.update(from + done, pairs.length) },
      );
      verifier.release();
      const cutHere = (verifier.counts().cut_prompts ?? 0) - cutBefore;
      await journal.append({ scores: part.map(({ lp_match, lp_partial, lp_null }) => [lp_match, lp_partial, lp_null]), cut: cutHere });
      cut += cutHere;
      scores.push(...part);
    }
  } finally {
    bar.done();
  }
  return { scores, cut };
}

async function readPairs(source: string): Promise<PlacedPair[]> {
  const isFolder = await stat(source).then(
    (found) => found.isDirectory(),
    () => false,
  );
  return isFolder ? labelPairs(source) : linePairs(source);
}

async function labelPairs(folder: string): Promise<PlacedPair[]> {
  const pairs: PlacedPair[] = [];
  for await (const row of readTable(folder, await readManifest(folder, 'labels'), 'labels', labelColumns)) {
    const { dataset, question_id, claim, form, page_index, sentence_index, label } = row;
    const place = { pair: pairs.length, dataset, question_id, row: row.row, claim, form, page_index, sentence_index, label };
    pairs.push({ fields: fieldsOf(row), place });
  }
  return pairs;
}

async function linePairs(file: string): Promise<PlacedPair[]> {
  const nowhere = {
    dataset: null,
    question_id: null,
    row: null,
    claim: null,
    form: null,
    page_index: null,
    sentence_index: null,
    label: null,
  };
  const pairs: PlacedPair[] = [];
  for await (const { value: fields } of readJsonLines(file, verifierFields))
    pairs.push({ fields, place: { pair: pairs.length, ...nowhere } });
  return pairs;
}
