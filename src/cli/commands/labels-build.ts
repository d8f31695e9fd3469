import { DERIVATIONS, type LabelOptions, PRESETS, SPLIT_RULES, buildLabels, openRecords, parseForms } from '../../../datasets/index.js';
import { CLAIM_FORMS } from '../../core/labels.js';
import type { Command } from '../command.js';
import { checkStrict, formatOption, inputOptions, openOptions, outFolder, subsetOption } from './input-options.js';

export const labelsBuild: Command = {
  path: 'labels build <file>',
  describe: "makes the verifier's label rows (match, partial, null) from a dataset file",
  positionals: { file: 'dataset file, records folder or run folder' },
  options: {
    ...inputOptions,
    preset: { type: 'string', choices: PRESETS, describe: 'halt: 12,000 rows, 4,000 of each class, 9,626 of them for training' },
    forms: {
      type: 'string',
      describe: `wordings of the claims, a row in each: a comma list of ${CLAIM_FORMS.join(', ')}; by default the dataset's own`,
    },
    'dev-share': {
      type: 'number',
      describe: 'share of the questions that go to dev (0.2; 1: a file for evaluation alone); not with --preset',
    },
    'dev-null-share': { type: 'number', describe: "share of null among dev's rows; by default as in train" },
    'split-by': {
      type: 'string',
      choices: SPLIT_RULES,
      default: 'question',
      describe: 'what train and dev may not share: questions, or gold pages too',
    },
    derive: {
      type: 'string',
      choices: DERIVATIONS,
      describe: 'MuSiQue: take the sentences that hold a step’s answer as its gold sentences',
    },
    'allow-missing-gold': { type: 'boolean', default: false, describe: 'label questions although a gold page is not in their pool' },
    ...subsetOption,
    ...formatOption,
  },
  run: async (args, terminal) => {
    const out = outFolder(args.out);
    const forms = args.forms === undefined ? undefined : parseForms(args.forms as string);
    const progress = terminal.progress('labels (MB read)');
    try {
      const opened = await openRecords(args.file as string, openOptions(args, terminal, progress));
      const { manifest, candidates, rows } = await buildLabels(opened, {
        out,
        preset: args.preset as LabelOptions['preset'],
        forms,
        devShare: args['dev-share'] as number | undefined,
        devNullShare: args['dev-null-share'] as number | undefined,
        splitBy: args['split-by'] as LabelOptions['splitBy'],
        derive: args.derive as LabelOptions['derive'],
        allowMissingGold: args['allow-missing-gold'] as boolean,
        format: args.format as LabelOptions['format'],
        seed: args.seed,
        resume: args.resume,
        force: args.force,
      });
      terminal.print(`candidates  match ${candidates.match}  partial ${candidates.partial}  null ${candidates.null}`);
      terminal.print(`rows        train ${rows.train}  dev ${rows.dev}`);
      terminal.print(out);
      checkStrict(args.strict, manifest.quarantined, manifest.counts.dangling_facts as number);
      return { out, candidates, rows, counts: manifest.counts, quarantined: manifest.quarantined, warnings: manifest.warnings };
    } finally {
      progress.done();
    }
  },
};
