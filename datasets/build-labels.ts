import { InputError } from '../src/core/errors.js';
import { CLAIM_FORMS, type ClaimForm, LABELS, type Label, type LabelRow, labelColumns } from '../src/core/labels.js';
import type { GoldHop } from '../src/core/gold-hops.js';
import type { Manifest } from '../src/core/manifest.js';
import { type OutputFolder, type TableFormat, openOutputFolder } from '../src/core/output-folder.js';
import { random } from '../src/core/random.js';
import type { HopRecord } from '../src/core/records.js';
import { claimForm } from './claim-forms.js';
import { fullwikiQuestion, fullwikiWarning, looksLikeFullwiki } from './doctor.js';
import { repairedFaults } from './faults.js';
import { isLabelled } from './gold-claims.js';
import { type Candidate, type CandidateRules, type LabelCandidates, labelCandidates } from './label-candidates.js';
import { type ClassCounts, type LabelPlan, type Split, planAll, planHalt } from './label-plan.js';
import { type SplitRule, makeGrouping } from './label-split.js';
import { makeLeakage } from './leakage.js';
import type { OpenedRecords } from './open-records.js';
import type { Quarantine } from './quarantine.js';

export const PRESETS = ['halt'] as const;

export interface LabelOptions extends CandidateRules {
  out: string;
  /** `halt`: the paper's 12,000 rows. By default all match and partial candidates, and null ones drawn down. */
  preset?: (typeof PRESETS)[number] | undefined;
  /**
   * Wordings of the claims (method.md §4): every candidate gives one row in each of them that its claim has; the split and the candidates
   * are the same whatever the forms. Default: the dataset's own, one row a candidate (`subquestion` for a decomposition, else `sentence`).
   */
  forms?: readonly ClaimForm[] | undefined;
  /** Share of the questions that go to dev, in [0, 1); default 0.2. The preset has its own numbers. */
  devShare?: number | undefined;
  /** Share of null among dev's rows, in [0, 1); default: as in train. */
  devNullShare?: number | undefined;
  /** What a split may not part; default `question`. */
  splitBy?: SplitRule | undefined;
  /** Default `arrow`. */
  format?: TableFormat | undefined;
  /** Default 13. */
  seed?: number | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
}

export interface LabelResult {
  manifest: Manifest;
  candidates: { [label in Label]: number };
  rows: { [split in Split]: number };
}

/**
 * Builds the verifier's label rows (method.md §3) into an output folder: `labels.arrow` or `labels.jsonl`, `leakage.json`,
 * `quarantine.jsonl` and the manifest. The file is read twice: the first pass counts each question's candidates, from which the split and
 * the draws follow; the second makes the rows. Between them only a few numbers a question are kept, so memory does not grow with the text.
 * The same seed and input give the same bytes on any machine.
 *
 * Throws InputError when no record has labels, when the dataset has no sentence labels and `derive` is not given, or when the preset needs
 * more than there is.
 */
export async function buildLabels(opened: OpenedRecords, options: LabelOptions): Promise<LabelResult> {
  const {
    preset,
    devShare = 0.2,
    devNullShare,
    splitBy = 'question',
    format = 'arrow',
    seed = 13,
    allowMissingGold = false,
    derive,
    forms,
  } = options;
  checkShares(devShare, devNullShare);
  if (preset && options.devShare !== undefined)
    throw new InputError('--dev-share: the preset halt has a fixed number of dev rows; leave one of the two out');
  if (preset && forms && forms.some((one) => one !== 'sentence'))
    throw new InputError(`--forms: the preset halt has the form sentence only, got ${forms.join(', ')}`);
  refuseUnderived(opened, derive);
  const out = await openOutputFolder({
    dir: options.out,
    kind: 'labels',
    command: 'labels build',
    options: {
      dataset: opened.dataset,
      ids: opened.ids,
      preset: preset ?? null,
      'dev-share': preset ? null : devShare,
      'dev-null-share': devNullShare ?? null,
      'split-by': splitBy,
      'allow-missing-gold': allowMissingGold,
      derive: derive ?? null,
      ...(forms && { forms: [...forms] }),
      format,
    },
    seed,
    inputs: opened.inputs,
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return resultOf(out.finished);

  try {
    return resultOf(await writeLabels(opened, out, { ...options, seed, format, splitBy, devShare }));
  } catch (error) {
    if (error instanceof InputError) await out.discard();
    throw error;
  }
}

async function writeLabels(
  opened: OpenedRecords,
  out: OutputFolder,
  options: LabelOptions & { seed: number; format: TableFormat; splitBy: SplitRule; devShare: number },
): Promise<Manifest> {
  const { preset, devShare, devNullShare, seed, forms } = options;
  const rules = { allowMissingGold: options.allowMissingGold, derive: options.derive };
  const survey = await surveyRecords(opened, rules, options);
  const input = { counts: survey.counts, groups: survey.groups, seed };
  const plan = preset ? planHalt({ ...input, file: opened.file, devNullShare }) : planAll({ ...input, devShare, devNullShare });
  const leakage = makeLeakage(survey.candidates.match + survey.candidates.partial);
  const rows = { train: 0, dev: 0 };
  const classes = { train: { match: 0, partial: 0, null: 0 }, dev: { match: 0, partial: 0, null: 0 } };
  const questions = { train: 0, dev: 0 };
  const byForm: { [form: string]: { [label in Label]: number } } = {};
  for (const form of forms ?? []) byForm[form] = { match: 0, partial: 0, null: 0 };
  async function* written(): AsyncGenerator<LabelRow> {
    for await (const made of labelRows(opened, survey.usable, plan, { rules, seed, forms })) {
      const [{ split } = { split: undefined }] = made;
      if (split) questions[split]++;
      for (const row of made) {
        rows[row.split]++;
        classes[row.split][row.label]++;
        const ofForm = byForm[row.form];
        if (ofForm) ofForm[row.label]++;
        leakage.add(row);
        yield row;
      }
    }
  }
  await out.table('labels', labelColumns, written(), options.format);
  const report = leakage.report();
  await out.file('leakage.json', `${JSON.stringify(report, null, 2)}\n`);
  await out.jsonl('quarantine.jsonl', survey.quarantine.entries);
  const warnings: string[] = [];
  for (const split of ['train', 'dev'] as const) {
    const empty = LABELS.filter((label) => classes[split][label] === 0);
    // A file that is only for evaluation (--dev-share 1) has no training rows by wish.
    if (rows[split] === 0 && !(split === 'train' && options.devShare === 1)) warnings.push(`the ${split} split has no rows`);
    else if (rows[split] > 0 && empty.length > 0)
      warnings.push(
        `the ${split} split has no row of the class ${empty.join(' and ')} (null is kept to the smaller of the other two classes)`,
      );
  }
  for (const [form, missing] of Object.entries(survey.claimsWithoutForm))
    if (missing === survey.claims) warnings.push(`no claim of this file has the form ${form}`);
  if (report.expected_pages.shared > 0)
    warnings.push(
      `${report.expected_pages.shared} of dev's ${report.expected_pages.dev} expected pages are in train too (leakage.json); --split-by page keeps them apart`,
    );
  if (looksLikeFullwiki(survey.missing, survey.records)) warnings.push(fullwikiWarning(survey.missing, survey.records, opened.dataset));
  return out.finish({
    counts: {
      records: survey.records,
      candidates: survey.candidates,
      rows,
      rows_by_class: classes,
      questions,
      ...(forms && { rows_by_form: byForm, claims: survey.claims, claims_without_form: survey.claimsWithoutForm }),
      refused_equals_gold: survey.refusedNull,
      refused_partial_equals_gold: survey.refusedPartial,
      dangling_facts: survey.danglingFacts,
      hops_without_evidence: survey.hopsWithoutEvidence,
      repaired: survey.quarantine.repaired,
    },
    quarantined: survey.quarantine.skipped,
    warnings,
    details: { dataset: opened.dataset, dataset_version: opened.version, splitter: opened.splitter, derived: options.derive ?? null },
  });
}

function resultOf(manifest: Manifest): LabelResult {
  const { candidates, rows } = manifest.counts as unknown as { candidates: ClassCounts; rows: LabelResult['rows'] };
  // The manifest's keys are sorted; people read the labels in their own order.
  return {
    manifest,
    candidates: { match: candidates.match, partial: candidates.partial, null: candidates.null },
    rows: { train: rows.train, dev: rows.dev },
  };
}

interface Survey {
  records: number;
  /** Records without a gold page. */
  missing: number;
  /** One entry a record that yields candidates, in file order. */
  counts: ClassCounts[];
  /** For every record, in file order, whether it yields candidates. */
  usable: boolean[];
  groups: number[][];
  candidates: { [label in Label]: number };
  refusedNull: number;
  refusedPartial: number;
  danglingFacts: number;
  hopsWithoutEvidence: number;
  quarantine: Pick<Quarantine, 'entries' | 'skipped' | 'repaired'>;
  /** Of the labelled questions. */
  claims: number;
  /** Of these, the claims that have no such wording; empty unless forms are asked for. */
  claimsWithoutForm: { [form in ClaimForm]?: number };
}

async function surveyRecords(
  opened: OpenedRecords,
  rules: CandidateRules,
  { splitBy, forms = [] }: { splitBy: SplitRule; forms?: readonly ClaimForm[] | undefined },
): Promise<Survey> {
  const survey: Survey = {
    records: 0,
    missing: 0,
    counts: [],
    usable: [],
    groups: [],
    candidates: { match: 0, partial: 0, null: 0 },
    refusedNull: 0,
    refusedPartial: 0,
    danglingFacts: 0,
    hopsWithoutEvidence: 0,
    quarantine: { entries: [], skipped: {}, repaired: {} },
    claims: 0,
    claimsWithoutForm: Object.fromEntries(forms.map((form) => [form, 0])),
  };
  const grouping = makeGrouping(splitBy);
  let labelled = false;
  for await (const record of opened.records) {
    survey.records++;
    labelled ||= isLabelled(record);
    refuseUnderived(opened, rules.derive, record);
    const candidates = labelCandidates(record, rules);
    survey.refusedNull += candidates.refusedNull;
    survey.refusedPartial += candidates.refusedPartial;
    survey.danglingFacts += candidates.danglingFacts;
    survey.hopsWithoutEvidence += candidates.hopsWithoutEvidence;
    if (candidates.skipped?.reason === 'gold_page_missing') survey.missing++;
    const place = { row: record.row, question_id: record.question_id };
    for (const { kind, field, detail } of repairedFaults(record)) opened.quarantine.repair({ ...place, reason: kind, field, detail });
    survey.usable.push(!candidates.skipped);
    if (candidates.skipped) {
      opened.quarantine.skip({ ...place, ...candidates.skipped });
      continue;
    }
    survey.counts.push({ match: candidates.match.length, partial: candidates.partial.length, null: candidates.null.length });
    for (const label of LABELS) survey.candidates[label] += candidates[label].length;
    survey.claims += candidates.claims.length;
    for (const form of forms) {
      const missing = candidates.hops.filter((hop) => claimForm(record, hop, form) === null).length;
      survey.claimsWithoutForm[form] = (survey.claimsWithoutForm[form] ?? 0) + missing;
    }
    grouping.add(
      record,
      candidates.claims.map((claim) => claim.page),
    );
  }
  if (!labelled) throw noLabels(opened.file);
  if (survey.missing > 0 && survey.counts.length === 0)
    throw new InputError(
      `all ${survey.missing} questions lack a gold page in their pool${fullwikiQuestion(opened.dataset)} (--allow-missing-gold labels them all the same)`,
      { file: opened.file },
    );
  if (forms.length > 0 && forms.every((form) => survey.claimsWithoutForm[form] === survey.claims))
    throw new InputError(`--forms: got ${forms.join(', ')}, and no claim of this file has such a form`, { file: opened.file });
  survey.groups = grouping.groups();
  // The second reading starts the quarantine anew, with what the reader itself finds.
  const { entries, skipped, repaired } = opened.quarantine;
  survey.quarantine = { entries: [...entries], skipped: { ...skipped }, repaired: { ...repaired } };
  return survey;
}

/** The error for a file in which no record has supporting facts (known-faults P11). */
export function noLabels(file: string): InputError {
  return new InputError('split has no labels: no record has supporting facts (a test split?)', { file });
}

function refuseUnderived(opened: OpenedRecords, derive: CandidateRules['derive'], record?: HopRecord): void {
  const has = record ? record.supporting.length > 0 || record.decomposition.length === 0 : opened.dataset !== 'musique';
  if (has || derive) return;
  const place = record ? { file: opened.file, row: record.row, questionId: record.question_id } : { file: opened.file };
  throw new InputError(
    'MuSiQue has no supporting sentences, so there are no sentence labels; --derive answer-sentence takes the sentences that hold a step’s answer and marks the rows as derived',
    place,
  );
}

async function* labelRows(
  opened: OpenedRecords,
  usable: readonly boolean[],
  plan: LabelPlan,
  { rules, seed, forms }: { rules: CandidateRules; seed: number; forms: readonly ClaimForm[] | undefined },
): AsyncGenerator<LabelRow[]> {
  const nullClaim = random(seed, 'labels', 'null-claim');
  let at = 0;
  let question = 0;
  for await (const record of opened.records) {
    if (usable[at++] !== true) continue;
    const which = question++;
    const split = plan.split(which);
    if (split === null) continue;
    const candidates = labelCandidates(record, rules);
    yield LABELS.flatMap((label) =>
      plan.pick(which, label).flatMap((ordinal) => {
        const candidate = candidates[label][ordinal] as Candidate;
        const claim = label === 'null' ? nullClaim.int(candidates.claims.length) : candidate.claim;
        const row = labelRow(record, candidates, { ...candidate, claim }, label, split);
        return forms ? inForms(row, record, candidates.hops[claim] as GoldHop, forms) : [row];
      }),
    );
  }
}

function labelRow(record: HopRecord, candidates: LabelCandidates, candidate: Candidate, label: Label, split: Split): LabelRow {
  const claim = candidates.claims[candidate.claim] as LabelCandidates['claims'][number];
  const page = record.pages[candidate.page] as HopRecord['pages'][number];
  return {
    question_id: record.question_id,
    row: record.row,
    dataset: record.dataset,
    question: record.question,
    claim: claim.claim,
    form: claim.subquestion === null ? 'sentence' : 'subquestion',
    answer_candidate: claim.expected_target,
    expected_claim: claim.expected_claim,
    expected_page: claim.page,
    expected_target: claim.expected_target,
    expected_target_role: claim.role,
    evidence_page: page.title,
    // Trimmed: in a prompt the space before a sentence would be doubled. The two indices lead to the text as it was.
    evidence_sentence: (page.sentences[candidate.sentence] as string).trim(),
    label,
    split,
    page_index: candidate.page,
    sentence_index: candidate.sentence,
    derived: record.supporting.length === 0,
  };
}

/** One row for each form that the claim has. */
function inForms(row: LabelRow, record: HopRecord, hop: GoldHop, forms: readonly ClaimForm[]): LabelRow[] {
  return CLAIM_FORMS.filter((form) => forms.includes(form)).flatMap((form) => {
    const expected_claim = claimForm(record, hop, form);
    return expected_claim === null ? [] : [{ ...row, form, expected_claim }];
  });
}

function checkShares(devShare: number, devNullShare: number | undefined): void {
  if (!(devShare >= 0 && devShare <= 1)) throw new InputError(`--dev-share: got ${devShare}, expected a number from 0 to 1`);
  if (devNullShare !== undefined && !(devNullShare >= 0 && devNullShare < 1))
    throw new InputError(`--dev-null-share: got ${devNullShare}, expected a number from 0 up to but not 1`);
}
