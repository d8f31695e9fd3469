import { mkdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { CheckFailedError, InputError, shown } from '../src/core/errors.js';
import { type Manifest, MANIFEST_NAME } from '../src/core/manifest.js';
import { openOutputFolder } from '../src/core/output-folder.js';
import {
  VARIANTS,
  type DevScores,
  type GoldenScores,
  type Variant,
  type VariantFiles,
  type VerifierExport,
  readDevScores,
  readEffectiveSettings,
  readGoldenScores,
  readVerifierExport,
} from '../src/core/verifier-export.js';
import { type ParityReport, VERIFIERS, type VerifierModelDetails } from '../src/core/verifier-model.js';
import { openGateScorer } from './gate-scorer.js';
import { checkAdapter } from './import-adapter.js';
import { EXPORT_NAME, checkFiles } from './import-files.js';
import { checkGraph } from './import-graph.js';
import { checkLabels, checkPrompts } from './import-prompts.js';
import { checkJob, readPlan } from './import-job.js';
import { checkGolden, checkMetrics, spread } from './import-rows.js';
import { checkMerge, checkSettings } from './import-settings.js';
import { DEFAULT_TOLERANCES, type GateScorer, type ParityTolerances, parityGate } from './parity.js';

export interface ImportOptions {
  /** Where models are; the verifier goes to `verifiers/NAME` in it. */
  modelDir: string;
  /** Default: the last part of the base's name, in lower case. */
  name?: string | undefined;
  /** The job folder of `verifier plan`: its settings, golden and dev rows are compared with the export's. Default: they are not. */
  job?: string | undefined;
  /** Variants that all have to pass the gate. Default: all of the export, and one that is narrower than the first may fail. */
  variants?: readonly Variant[] | undefined;
  /** Default `DEFAULT_TOLERANCES`. */
  tolerances?: ParityTolerances | undefined;
  /** Dev rows that are scored anew, evenly spread; at least 1. Default: all. */
  devRows?: number | undefined;
  /** Replace an imported verifier of this name; it stays until the new one has passed. */
  force?: boolean | undefined;
  seed: number;
  /** Opens a graph in Node for the gate. Default: the runtime's own scorer. */
  openScorer?: ((file: string, made: VerifierExport) => Promise<GateScorer>) | undefined;
  onProgress?: ((done: number, total: number) => void) | undefined;
  signal?: AbortSignal | undefined;
}

export interface Imported {
  out: string;
  manifest: Manifest;
  report: ParityReport;
}

/** The parity gate did not hold; nothing was imported. Exit code 1. */
export class ParityFailedError extends CheckFailedError {
  readonly report: ParityReport;

  constructor(message: string, report: ParityReport) {
    super(message);
    this.name = 'ParityFailedError';
    this.report = report;
  }
}

/**
 * Takes over a trainer's export as `modelDir/verifiers/NAME` (FORMATS.md): every check of files, graphs, settings and prompts first, then the
 * parity gate on the copies. Throws InputError for a fault of the export and ParityFailedError for a failed gate; either leaves nothing behind.
 */
export async function importVerifier(exportDir: string, options: ImportOptions): Promise<Imported> {
  const { signal } = options;
  const made = await readVerifierExport(exportDir);
  checkLabels(exportDir, made);
  checkMerge(made, join(exportDir, EXPORT_NAME));
  const wanted = wantedVariants(exportDir, made, options.variants);
  const name = modelName(options.name ?? basename(made.base).toLowerCase());
  const out = join(options.modelDir, VERIFIERS, name);
  if (!options.force && (await exists(join(out, MANIFEST_NAME))))
    throw new InputError('is imported already; choose another --name, or --force to replace it', { file: out });
  await checkFiles(exportDir, made, { signal });
  const { golden, dev, warnings } = await checkedContents(exportDir, made, wanted, options);
  const rows = spread(dev, options.devRows ?? dev.length);
  if (rows.length < dev.length) warnings.push(`${rows.length} of ${dev.length} dev rows were scored anew (--dev-rows)`);
  return stage(out, { exportDir, made, wanted, golden, dev: rows, warnings }, options);
}

interface Checked {
  exportDir: string;
  made: VerifierExport;
  wanted: Variant[];
  golden: GoldenScores[];
  dev: DevScores[];
  warnings: string[];
}

/** All that can be checked without running a graph. */
async function checkedContents(
  exportDir: string,
  made: VerifierExport,
  wanted: readonly Variant[],
  { job, signal }: ImportOptions,
): Promise<Pick<Checked, 'golden' | 'dev' | 'warnings'>> {
  const plan = job === undefined ? undefined : await readPlan(job);
  const effective = await readEffectiveSettings(exportDir);
  checkSettings(made, effective, { planned: plan?.settings, file: join(exportDir, 'effective.json') });
  await checkAdapter(exportDir, made);
  for (const variant of wanted) {
    signal?.throwIfAborted();
    await checkGraph(exportDir, made, variant);
  }
  const golden = await readGoldenScores(exportDir, made.labels);
  checkGolden(join(exportDir, 'golden.jsonl'), golden, wanted);
  await checkPrompts(exportDir, made, { golden, maxLength: maxLengthOf(exportDir, made) });
  const dev = await readDevScores(exportDir, made.labels);
  checkMetrics(exportDir, made, dev);
  if (job !== undefined && plan !== undefined) await checkJob(exportDir, { job, plan }, { made, golden, dev });
  return {
    golden,
    dev,
    warnings: [
      ...(plan === undefined ? ['the settings were not compared with the plan: no --job'] : []),
      ...Object.entries(made.failed_variants).map(([variant, why]) => `${variant} is missing, the trainer left it out: ${why}`),
      ...(dev.length === 0 ? ['there are no dev rows, so macro-F1 was not compared'] : []),
    ],
  };
}

/** Copies into a folder of its own, judges the copies there, and only then puts the folder in its place. */
async function stage(out: string, checked: Checked, options: ImportOptions): Promise<Imported> {
  const { exportDir, made, wanted, golden, dev } = checked;
  const { tolerances = DEFAULT_TOLERANCES, openScorer = openGateScorer } = options;
  const verifiers = dirname(out);
  const staging = join(verifiers, `.${basename(out)}.importing`);
  const replaced = join(verifiers, `.${basename(out)}.replaced`);
  const created = await mkdir(verifiers, { recursive: true });
  try {
    await rm(staging, { recursive: true, force: true });
    // A kill between the two renames below: the old model is still the good one.
    if (!(await exists(out)) && (await exists(replaced))) await rename(replaced, out);
    const folder = await openOutputFolder({
      dir: staging,
      kind: 'verifier',
      command: 'verifier import',
      options: { variants: options.variants === undefined ? null : [...options.variants], 'dev-rows': options.devRows ?? null },
      seed: options.seed,
      inputs: [join(exportDir, EXPORT_NAME)],
    });
    const files = made.files.map(({ path }) => path).filter((path) => path.startsWith('tokenizer/'));
    for (const path of [...files, EXPORT_NAME, 'golden.jsonl', 'model-card.md']) await folder.copy(path, join(exportDir, path));
    for (const variant of wanted)
      for (const path of filesOf(made, variant)) {
        options.signal?.throwIfAborted();
        await folder.copy(path, join(exportDir, path));
      }
    const report = await parityGate(golden, dev, {
      labels: made.labels,
      variants: wanted,
      tolerances,
      open: (variant) => openScorer(folder.temporary((made.variants[variant] as VariantFiles).path), made),
      onProgress: options.onProgress,
      signal: options.signal,
    });
    const passed = judged(wanted, report, options.variants !== undefined);
    for (const variant of wanted.filter((one) => !passed.includes(one))) for (const path of filesOf(made, variant)) await folder.drop(path);
    await folder.file('parity.json', `${JSON.stringify(report, null, 2)}\n`);
    const warnings = [...checked.warnings, ...Object.entries(report.refused).map(([variant, why]) => `${variant} is refused: ${why}`)];
    const manifest = await folder.finish({
      counts: { golden: golden.length, dev: dev.length, variants: passed.length, refused: wanted.length - passed.length },
      warnings,
      details: JSON.parse(JSON.stringify(detailsOf(made, { passed, report, compared: options.job !== undefined }))) as Manifest['details'],
    });
    sameFiles(exportDir, made, manifest);
    await rm(replaced, { recursive: true, force: true });
    if (await exists(out)) await rename(out, replaced);
    await rename(staging, out);
    await rm(replaced, { recursive: true, force: true });
    return { out, manifest, report };
  } catch (error) {
    await rm(staging, { recursive: true, force: true });
    await removeEmpty(verifiers, created);
    throw error;
  }
}

/** The variants that are imported. Throws ParityFailedError where none is to be. */
function judged(wanted: readonly Variant[], report: ParityReport, named: boolean): Variant[] {
  const passed = wanted.filter((one) => report.refused[one] === undefined);
  const [widest] = wanted;
  if (passed.length === wanted.length || (!named && passed[0] === widest)) return passed;
  const reasons = Object.entries(report.refused).map(([variant, why]) => `${variant}: ${why}`);
  const others = named && passed.length > 0 ? `; --variants ${passed.join(',')} imports the rest` : '';
  throw new ParityFailedError(`the parity gate failed, nothing is imported${others}\n${reasons.join('\n')}`, report);
}

function detailsOf(
  made: VerifierExport,
  { passed, report, compared }: { passed: readonly Variant[]; report: ParityReport; compared: boolean },
): VerifierModelDetails {
  return {
    base: made.base,
    base_sha256: made.base_sha256,
    settings: made.settings,
    settings_compared: compared,
    labels: made.labels,
    label_ids: made.label_ids,
    pad_id: made.pad_id,
    eos_id: made.eos_id,
    vocab_size: made.vocab_size,
    template_sha256: made.template_sha256,
    prompt_sha256: made.prompt_sha256,
    tokenizer_sha256: made.tokenizer_sha256,
    architecture: made.architecture,
    tied_embeddings: made.tied_embeddings,
    variants: Object.fromEntries(passed.map((variant) => [variant, made.variants[variant] as VariantFiles])),
    default_variant: passed[0] as Variant,
    metrics: made.metrics,
    parity: report,
  };
}

/** What was copied is still what was checked. */
function sameFiles(exportDir: string, made: VerifierExport, manifest: Manifest): void {
  for (const { name, sha256 } of manifest.outputs) {
    const listed = made.files.find(({ path }) => path === name);
    if (listed !== undefined && listed.sha256 !== sha256)
      throw new InputError('was changed while it was imported', { file: join(exportDir, name) });
  }
}

function filesOf({ variants }: VerifierExport, variant: Variant): string[] {
  const { path, external } = variants[variant] as VariantFiles;
  return [path, ...external];
}

/** In the order of VARIANTS, the widest first. */
function wantedVariants(
  exportDir: string,
  { variants, failed_variants: failed }: VerifierExport,
  asked: readonly Variant[] | undefined,
): Variant[] {
  const here = VARIANTS.filter((one) => variants[one] !== undefined);
  const lost = asked?.find((one) => failed[one] !== undefined);
  if (lost !== undefined)
    throw new InputError(`--variants: got ${lost}, which the trainer left out: ${failed[lost]}`, {
      file: join(exportDir, EXPORT_NAME),
      field: `failed_variants.${lost}`,
    });
  const absent = asked?.find((one) => !here.includes(one));
  if (absent !== undefined)
    throw new InputError(`--variants: got ${absent}, but the export has ${here.join(', ') || 'none'}`, { file: exportDir });
  if (here.length === 0) throw new InputError('has no graph', { file: join(exportDir, EXPORT_NAME), field: 'variants' });
  return here.filter((one) => asked === undefined || asked.includes(one));
}

function modelName(name: string): string {
  if (!/^[\w-][\w.-]*$/.test(name)) throw new InputError(`--name: got ${shown(name)}, expected letters, digits, ".", "_" and "-"`);
  return name;
}

function maxLengthOf(exportDir: string, { settings }: VerifierExport): number {
  const length = settings.max_length;
  if (typeof length === 'number' && Number.isSafeInteger(length) && length > 0) return length;
  throw new InputError(`got ${shown(length)}, expected a whole number of tokens`, {
    file: join(exportDir, EXPORT_NAME),
    field: 'settings.max_length',
  });
}

/** Removes the folders that this run made, from `folder` up to `first`, as far as nothing is in them. */
async function removeEmpty(folder: string, first: string | undefined): Promise<void> {
  if (first === undefined) return;
  for (let at = resolve(folder); at.length >= resolve(first).length; at = dirname(at)) {
    const gone = await rmdir(at).then(
      () => true,
      () => false,
    );
    if (!gone) return;
  }
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
