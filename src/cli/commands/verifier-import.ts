import { ParityFailedError, importVerifier } from '../../../train/index.js';
import { InputError, shown } from '../../core/errors.js';
import { modelFolder } from '../../core/homes.js';
import { VARIANTS, type Variant } from '../../core/verifier-export.js';
import { type ParityReport, type ParityStage, verifierModelDetails } from '../../core/verifier-model.js';
import { figure, textTable } from '../../evaluate/index.js';
import type { Command, Terminal } from '../command.js';
import { wholeNumber } from '../number-flags.js';
import { modelDirOption } from './models-list.js';

export const verifierImport: Command = {
  path: 'verifier import <export>',
  ignores: {
    out: 'an imported verifier goes to verifiers/NAME in --model-dir',
    resume: 'an import that was interrupted starts again, and leaves nothing behind',
  },
  describe: 'takes over what the trainer exported, after checks of every file and the parity gate; exit 1 where the gate fails',
  epilogue:
    'The gate compares adapter, merged weights, graph in Python and graph in Node on the golden rows, and macro-F1 on the dev rows. A failed ' +
    'one leaves nothing in --model-dir. Every variant is a decider of its own: a calibration profile belongs to one of them.',
  positionals: { export: 'folder that the trainer wrote (export.json)' },
  options: {
    ...modelDirOption,
    job: { type: 'string', describe: 'job folder of verifier plan: settings, golden and dev rows have to be those of the export' },
    name: { type: 'string', describe: "name of the imported verifier; default: the last part of the base's" },
    variants: {
      type: 'string',
      describe: `comma list of ${VARIANTS.join(', ')}, each of which has to pass; default: those of the export that pass, the widest among them`,
    },
    'dev-rows': { type: 'number', describe: 'score so many dev rows anew, evenly spread; default: all' },
  },
  run: async (args, terminal) => {
    const variants = args.variants === undefined ? undefined : parseVariants(args.variants as string);
    const devRows = args['dev-rows'] === undefined ? undefined : wholeNumber('dev-rows', args['dev-rows']);
    const progress = terminal.progress('parity gate (rows)');
    try {
      const { out, manifest, report } = await importVerifier(args.export as string, {
        modelDir: modelFolder(args['model-dir'] as string | undefined),
        name: args.name as string | undefined,
        job: args.job as string | undefined,
        variants,
        devRows,
        force: args.force,
        seed: args.seed,
        onProgress: (done, total) => progress.update(done, total),
        signal: terminal.signal,
      });
      progress.done();
      printReport(terminal, report);
      terminal.print(out);
      const { variants: imported, default_variant: opened } = verifierModelDetails.parse(manifest.details);
      return {
        out,
        counts: manifest.counts,
        quarantined: {},
        warnings: manifest.warnings,
        variants: Object.keys(imported),
        default_variant: opened,
        parity: report,
      };
    } catch (error) {
      progress.done();
      if (error instanceof ParityFailedError) printReport(terminal, error.report);
      throw error;
    }
  },
};

function printReport(terminal: Terminal, { stages, dev }: ParityReport): void {
  const lines = stages.map((one) => [
    one.stage,
    one.variant ?? '',
    String(one.rows),
    small(one.max_difference),
    one.tolerance.difference === null ? 'any' : String(one.tolerance.difference),
    flipsOf(one),
    one.passed ? 'ok' : 'FAILED',
  ]);
  terminal.print(textTable(['step', 'variant', 'golden rows', 'largest change', 'allowed', 'labels that flip (margins)', ''], lines));
  if (dev.length === 0) return;
  const rows = dev.map((one) => [
    one.variant,
    String(one.rows),
    figure(one.trainer_macro_f1),
    figure(one.node_macro_f1),
    String(one.flips),
    one.passed ? 'ok' : 'FAILED',
  ]);
  terminal.print(textTable(['variant', 'dev rows', 'macro-F1, trainer', 'macro-F1, Node', 'labels that flip', ''], rows));
}

function flipsOf({ flips }: ParityStage): string {
  return flips.length === 0 ? '0' : `${flips.length} (${flips.map((one) => small(one.margin)).join(', ')})`;
}

function small(value: number): string {
  return value === 0 ? '0' : value.toExponential(1);
}

function parseVariants(text: string): Variant[] {
  const names = text.split(',').map((one) => one.trim());
  const known = (one: string): one is Variant => (VARIANTS as readonly string[]).includes(one);
  const wrong = names.find((one) => !known(one));
  if (wrong !== undefined) throw new InputError(`--variants: got ${shown(wrong)}, expected a comma list of ${VARIANTS.join(', ')}`);
  return VARIANTS.filter((one) => names.includes(one));
}
