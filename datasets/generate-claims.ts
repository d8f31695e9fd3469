import { join } from 'node:path';
import { z } from 'zod';
import { type Claim, type ClaimQuality, claimColumns, claimQualityColumns } from '../src/core/claims.js';
import { InputError } from '../src/core/errors.js';
import { evidenceLines } from '../src/core/evidence-lines.js';
import type { Fidelity } from '../src/core/fidelity.js';
import { type Json, type Manifest, readManifest } from '../src/core/manifest.js';
import { type OutputFolder, type TableFormat, openOutputFolder } from '../src/core/output-folder.js';
import type { OnProgress } from '../src/core/progress.js';
import type { QuestionKey } from '../src/core/question-key.js';
import { questionWork } from '../src/core/question-work.js';
import type { HopRecord } from '../src/core/records.js';
import { idTally, repeatedIdsWarning } from '../src/core/repeated-ids.js';
import { readRunQuestions } from '../src/core/run-questions.js';
import { type LanguageModel, LanguageModelError, addUsage, metered, noUsage } from '../src/llm/index.js';
import { claimPromptSha256 } from '../src/prompts/index.js';
import { askClaims } from './ask-claims.js';
import { claimQuality } from './claim-quality.js';
import type { OpenedRecords } from './open-records.js';
import { parseClaims } from './parse-claims.js';

export interface GenerateOptions {
  model: LanguageModel;
  out: string;
  /**
   * Claims from what the agent had found after this many loops of a run, one-based; the run is the folder that `opened` was opened from.
   * Default: from the question alone.
   */
  afterLoop?: number | undefined;
  /** Bind the reply to a JSON schema where the model can; default false, as the papers ask. */
  constrained?: boolean | undefined;
  /** Questions asked at once. Default 1. */
  concurrency?: number | undefined;
  /** Default `arrow`. */
  format?: TableFormat | undefined;
  /** Nothing is drawn; the manifest names it. Default 13. */
  seed?: number | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
  onFailed?: ((failure: QuestionKey & { message: string }) => void) | undefined;
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Has a language model write the hop claims of every question (method.md §2): one call of at most 256 tokens a question, from the question
 * alone, greedy. Writes the tables `claims` and `quality`, `quarantine.jsonl` and the manifest. Finished questions stand in a journal.
 *
 * Of the record only the question is asked with; its gold titles are read behind that, for the quality of what came back.
 *
 * @throws FailedQuestionsError where the model failed for single questions: the folder stays unfinished and can be resumed
 */
export async function generateClaims(opened: OpenedRecords, options: GenerateOptions): Promise<Manifest> {
  const { model, afterLoop, constrained = false, concurrency, format = 'arrow', seed = 13, onFailed, onProgress, signal } = options;
  const run = afterLoop === undefined ? undefined : await readManifest(opened.file, 'trajectories');
  const promptSha256 = claimPromptSha256({ evidence: run !== undefined });
  const out = await openOutputFolder({
    dir: options.out,
    kind: 'claims',
    command: 'claims build',
    options: {
      dataset: opened.dataset,
      ids: opened.ids,
      source: 'generated',
      llm: model.identity,
      prompt: promptSha256,
      constrained,
      'after-loop': afterLoop ?? null,
      format,
    },
    seed,
    inputs: run === undefined ? opened.inputs : [...opened.inputs, trajectoriesOf(opened.file, run)],
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return out.finished;

  const tally = newTally();
  const journal = await out.journal('replies.journal', (value) => journalEntry.parse(value));
  const asked = run === undefined ? fromQuestions(opened) : fromEvidence(opened.file, run, { afterLoop: afterLoop as number, tally });
  const work = async ({ record, evidence }: Asked, stop: AbortSignal): Promise<JournalEntry> => {
    const meter = metered(model);
    const { text, finish } = await askClaims(meter.model, record.question, { evidence, constrained, signal: stop });
    return { row: record.row, question_id: record.question_id, reply: text, finish, usage: meter.usage() };
  };
  const quality: ClaimQuality[] = [];
  async function* claims(): AsyncGenerator<Claim> {
    let done = 0;
    const failed = (error: unknown): boolean => error instanceof LanguageModelError;
    const working = questionWork(asked, { journal, keyOf: ({ record }) => record, work, concurrency, failed, onFailed, signal });
    for await (const { question, entry } of working) {
      const made = madeOf(question.record, entry, tally);
      quality.push(made.quality);
      onProgress?.(++done, null);
      yield* made.claims;
    }
  }
  try {
    await out.table('claims', claimColumns, claims(), format);
  } catch (error) {
    if (error instanceof InputError) await out.discard();
    throw error;
  }
  await out.table('quality', claimQualityColumns, quality, format);
  await out.jsonl('quarantine.jsonl', opened.quarantine.entries);
  return finished(out, opened, { tally, quality, model, promptSha256, constrained, afterLoop });
}

function trajectoriesOf(run: string, { outputs }: Manifest): string {
  return join(run, outputs.find((one) => one.name.startsWith('trajectories.'))?.name ?? 'trajectories.arrow');
}

type Tally = ReturnType<typeof newTally>;

function newTally(): {
  claims: number;
  perK: { [k: string]: number };
  readings: { plain: number; repaired: number; fallback: number; none: number };
  fallbacks: { [reason: string]: number };
  cutReplies: number;
  endedBefore: number;
  usage: ReturnType<typeof noUsage>;
} {
  return {
    claims: 0,
    perK: {},
    readings: { plain: 0, repaired: 0, fallback: 0, none: 0 },
    fallbacks: {},
    cutReplies: 0,
    endedBefore: 0,
    usage: noUsage(),
  };
}

interface Asked {
  record: HopRecord;
  evidence: string | undefined;
}

async function* fromQuestions(opened: OpenedRecords): AsyncGenerator<Asked> {
  for await (const record of opened.records) yield { record, evidence: undefined };
}

/** Questions whose trajectory has that loop: for the others there is no moment at which they would be asked again. */
async function* fromEvidence(
  run: string,
  manifest: Manifest,
  { afterLoop, tally }: { afterLoop: number; tally: Tally },
): AsyncGenerator<Asked> {
  for await (const { record, trajectory } of readRunQuestions(run, manifest)) {
    if (record === null) throw new InputError('has no records, which hold the questions', { file: run });
    if (trajectory.loops.length < afterLoop) tally.endedBefore++;
    else yield { record, evidence: evidenceLines(trajectory.loops.slice(0, afterLoop)) };
  }
}

function madeOf(record: HopRecord, { reply, finish, usage }: JournalEntry, tally: Tally): { claims: Claim[]; quality: ClaimQuality } {
  const { claims: said, reading, fallback } = parseClaims(reply, record.question);
  const { question_id, row, question } = record;
  const claims = said.map((one, claim): Claim => ({ question_id, row, question, claim, source: 'generated', ...one, subquestion: null }));
  tally.claims += claims.length;
  tally.perK[claims.length] = (tally.perK[claims.length] ?? 0) + 1;
  tally.readings[reading]++;
  if (fallback !== null) tally.fallbacks[fallback] = (tally.fallbacks[fallback] ?? 0) + 1;
  if (finish === 'length') tally.cutReplies++;
  addUsage(tally.usage, usage);
  return { claims, quality: { question_id, row, k: claims.length, ...claimQuality(claims, record), fallback, reply } };
}

async function finished(
  out: OutputFolder,
  opened: OpenedRecords,
  made: {
    tally: Tally;
    quality: readonly ClaimQuality[];
    model: LanguageModel;
    promptSha256: string;
    constrained: boolean;
    afterLoop: number | undefined;
  },
): Promise<Manifest> {
  const { tally, quality, model, promptSha256, constrained, afterLoop } = made;
  if (quality.length === 0) throw new InputError('no question of the run has that many loops', { file: opened.file });
  const scored = quality.filter((one) => one.entity_f1 !== null);
  const buckets: { [bucket: string]: number } = {};
  for (const { bucket } of scored) buckets[bucket as string] = (buckets[bucket as string] ?? 0) + 1;
  const ids = idTally();
  for (const { question_id } of quality) ids.add(question_id);
  const repeated = ids.repeated();
  const noClaims = tally.perK[0] ?? 0;
  const counts: { [name: string]: Json } = {
    questions: quality.length,
    claims: tally.claims,
    no_claims: noClaims,
    claims_per_question: tally.perK,
    readings: { ...tally.readings },
    fallbacks: tally.fallbacks,
    cut_replies: tally.cutReplies,
    entity_f1: scored.length === 0 ? null : scored.reduce((sum, one) => sum + (one.entity_f1 as number), 0) / scored.length,
    buckets,
    repaired: { ...opened.quarantine.repaired },
    usage: { ...tally.usage },
    ...(afterLoop !== undefined && { ended_before_loop: tally.endedBefore }),
    ...(repeated > 0 && { repeated_ids: repeated }),
  };
  const warnings: string[] = [];
  if (repeated > 0) warnings.push(repeatedIdsWarning(repeated));
  if (tally.readings.fallback > 0)
    warnings.push(
      `${tally.readings.fallback} of ${quality.length} questions have one claim made of question and reply: no claim could be read`,
    );
  if (noClaims > 0) warnings.push(`${noClaims} of ${quality.length} questions have no claim (empty reply) and are never covered`);
  if (constrained && !model.constrains) warnings.push('this model cannot be bound to a schema: it was asked as without --constrained');
  return out.finish({
    counts,
    quarantined: opened.quarantine.skipped,
    warnings,
    details: {
      dataset: opened.dataset,
      dataset_version: opened.version,
      source: 'generated',
      splitter: opened.splitter,
      model: model.identity,
      prompt_sha256: promptSha256,
      after_loop: afterLoop ?? null,
      ...FIDELITY,
    },
  });
}

const FIDELITY: Fidelity = {
  fidelity: 'approximate',
  fidelity_note: 'own wording of the prompt, and the model that was given, for the papers’ prompt and Qwen2.5-3B-Instruct',
};

type JournalEntry = z.infer<typeof journalEntry>;
const journalEntry = z.strictObject({
  row: z.int(),
  question_id: z.string(),
  reply: z.string(),
  finish: z.enum(['stop', 'length']),
  usage: z.strictObject({ calls: z.int(), prompt_tokens: z.int(), completion_tokens: z.int() }),
});
