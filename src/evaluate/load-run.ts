import { join } from 'node:path';
import { type Aggregation, type Vectors, createMargin, openVectors, openVerdicts, questionVerdict } from '../../runtime/index.js';
import { type ClaimSource, type ClaimText, claimText, defaultClaimText } from '../core/claims.js';
import { type CoverageRule, goldLoop } from '../core/coverage.js';
import { type EncoderIdentity, type EvidenceText, encoderIdentity, evidenceText } from '../core/embeddings.js';
import { InputError } from '../core/errors.js';
import { type GoldHops, goldHops } from '../core/gold-hops.js';
import { type Json, MANIFEST_NAME, type Manifest, readManifest } from '../core/manifest.js';
import type { OnProgress } from '../core/progress.js';
import { questionKey } from '../core/question-key.js';
import { type HopRecord, recordColumns } from '../core/records.js';
import { runFolder } from '../core/run-folder.js';
import { readTable } from '../core/tables.js';
import type { LearntFrom } from '../core/training-questions.js';
import { type Trajectory, groupTrajectories, trajectoryColumns } from '../core/trajectories.js';
import { cheapSignals } from './cheap-signals.js';
import { type Exclusions, type QuestionRun, noExclusions } from './question-run.js';
import { readRunAnswers } from './run-answers.js';
import { readRunClaims } from './run-claims.js';
import { type RunFolderManifest, checkVerdictsOfRun } from './same-run.js';
import { type StandIn, draftedStandIn } from './stand-in.js';
import { claimPairs, matchMarginSweep } from './stored-verdicts.js';

/** Which of a run's artefacts are read, and how. */
export interface RunSources {
  /**
   * Folder names below the run: `verdicts/DECIDER`, `claims/CLAIMS`, `embeddings/ENCODER`. Without claims (null) a drafter, or another
   * stand-in, makes the margin from the question of the record, and no claim is read anywhere (CoVeR, the claim-free pipeline).
   */
  decider: string;
  claims: string | null;
  encoder: string;
  /** Default: that of the claims' source (method.md §5). */
  claimText?: ClaimText | undefined;
  /** Folder of a drafter whose slots stand for the claims in the margin; the decider's claims stay. */
  drafter?: string | undefined;
  /** Default `title+sentence`. */
  evidenceText?: EvidenceText | undefined;
  /** Default `max`. */
  aggregation?: Aggregation | undefined;
  /** Default `all_match`; `any_match` also takes the smallest claim margin as the state's. */
  policy?: 'all_match' | 'any_match' | undefined;
  /** Folder names `extractions/NAME` whose answers are read. Default: none. */
  extractors?: readonly string[] | undefined;
  /** The gold loop's rules (method.md §1). Defaults `any` and `answer`. */
  support?: CoverageRule | undefined;
  covering?: 'answer' | 'paragraph' | undefined;
}

/** What the margins and verdicts of a run belong to; runs of one calibration have to agree in it. */
export interface RunIdentity {
  encoder: EncoderIdentity;
  aggregation: Aggregation;
  policy: 'all_match' | 'any_match';
  claimSource: ClaimSource;
  /** Null where a drafter's slots, or another stand-in, are in the margin. */
  claimText: ClaimText | null;
  drafterSha256: string | null;
  evidenceText: EvidenceText;
  decider: { name: string; identity: Json; claims: string | null };
  /** Left out where none was asked for. */
  extractors?: Json;
}

export interface LoadedRun {
  folder: string;
  dataset: string;
  questions: QuestionRun[];
  excluded: Exclusions;
  /** Rows of the source file as far as the run knows them, and one more than the largest row number. */
  rows: number;
  rowEnd: number;
  identity: RunIdentity;
  /** Who made the loops, and from what: the agent's identity and budget; the retriever's and its top. */
  agent: Json;
  corpus: Json;
  splitter: string;
  /** sha256 of the records (of the trajectories where there are none). */
  sha256: string;
  /** Source files, as the run's manifest names them. */
  sources: Manifest['inputs'];
}

export interface LoadOptions {
  onProgress?: OnProgress | undefined;
  signal?: AbortSignal | undefined;
  /** Told what a drafter's manifest warns of. */
  warn?: ((message: string) => void) | undefined;
  /** Stands for the claims in the margin, like `sources.drafter`: for drafters that are no folder yet, and for their baselines. */
  standIn?: StandIn | undefined;
  /** Also what the cheap routers read (`cheapSignals`), from the claims' texts and the question's own pages. Default false. */
  signals?: boolean | undefined;
  /** What a question did for a drafter; default: that of the stand-in. */
  learntFrom?: LearntFrom | undefined;
}

/**
 * Reads one run: margins from its embeddings, verdicts loop by loop, gold loops from its records. Questions without claims, without a loop
 * or without verdicts are left out and counted. Throws InputError when an artefact is missing or damaged, and for claims or verdicts of another
 * run; embeddings need no such check, since a vector is found by its text and a text that is missing is named.
 */
export async function loadRun(folder: string, sources: RunSources, options: LoadOptions = {}): Promise<LoadedRun> {
  if (sources.drafter === undefined) return readRun(folder, sources, options.standIn, options);
  const drafted = await draftedStandIn(sources.drafter, await encoderOf(runFolder.embeddings(folder, sources.encoder)), options.warn);
  try {
    return await readRun(folder, sources, drafted, options);
  } finally {
    await drafted.close();
  }
}

async function readRun(folder: string, sources: RunSources, standIn: StandIn | undefined, options: LoadOptions): Promise<LoadedRun> {
  const manifest = await readManifest(folder, 'trajectories');
  const { dataset, splitter, agent, corpus } = runDetails(folder, manifest);
  const run = { folder, manifest };
  const claims = sources.claims === null ? null : await readRunClaims(run, sources.claims);
  if (claims === null && standIn === undefined)
    throw new InputError('no claims, and nothing that stands for them in the margin', { file: folder });
  const vectorsFolder = runFolder.embeddings(folder, sources.encoder);
  const vectors = await openVectors(vectorsFolder);
  const policy = sources.policy ?? 'all_match';
  const verdictsFolder = runFolder.verdicts(folder, sources.decider);
  const { verdicts, decider } = await readVerdicts(run, sources.decider, policy);
  const { hops, records, pages } = await readGold(folder, manifest, {
    covering: sources.covering ?? 'answer',
    keepPages: options.signals ?? false,
  });
  if (claims === null && hops === undefined)
    throw new InputError('without --claims the question is read from the records of the run, and this run has none', { file: folder });
  const asked = new Map(claims === null ? records.map((record) => [questionKey(record), record.question]) : []);
  const extracted = await readRunAnswers(run, sources.extractors ?? [], records);
  const claimSource = standIn?.claimSource ?? claims?.source;
  if (claimSource === undefined)
    throw new InputError('the drafter does not say which claims it learnt from; --claims names those of the run', { file: folder });
  const text = standIn || claims === null ? null : (sources.claimText ?? defaultClaimText(claims.source));
  const identity: RunIdentity = {
    encoder: vectors.identity,
    aggregation: sources.aggregation ?? 'max',
    policy,
    claimSource,
    claimText: text,
    drafterSha256: standIn?.sha256 ?? null,
    evidenceText: sources.evidenceText ?? 'title+sentence',
    decider,
    ...(extracted.extractors.length > 0 && { extractors: extracted.extractors.map(({ name, identity: made }) => ({ name, made })) }),
  };

  const learntFrom = options.learntFrom ?? standIn?.learntFrom;
  const excluded = noExclusions();
  const questions: QuestionRun[] = [];
  let [seen, rowEnd] = [0, 0];
  const trajectories = readTable(folder, manifest, 'trajectories', trajectoryColumns);
  for await (const trajectory of groupTrajectories(trajectories)) {
    options.signal?.throwIfAborted();
    seen++;
    rowEnd = Math.max(rowEnd, trajectory.row + 1);
    const key = questionKey(trajectory);
    const own = claims?.of(trajectory) ?? [];
    const asks = claims === null ? asked.get(key) : own[0]?.question;
    const verdict = verdicts.get(key);
    if (asks === undefined || verdict?.claims === 0) excluded.no_claims++;
    else if (!verdict) excluded.undecided++;
    else if (verdict.fires.length !== trajectory.loops.length) {
      throw new InputError(`got verdicts for ${verdict.fires.length} loops, expected ${trajectory.loops.length} as in the trajectories`, {
        file: verdictsFolder,
        row: trajectory.row,
        questionId: trajectory.question_id,
      });
    } else {
      const targets = standIn
        ? await standIn.targets(vectors.get('query', asks))
        : own.map((claim) => vectors.get('query', claimText(claim, text as ClaimText)));
      const margins = marginsOf(trajectory, targets, vectors, identity);
      questions.push({
        id: trajectory.question_id,
        row: trajectory.row,
        ...margins,
        fires: verdict.fires,
        firesBy: verdict.firesBy,
        pairs: verdict.pairs,
        matchedAt: verdict.matchedAt,
        claimPairs: verdict.claimPairs,
        ...(verdict.sweep && { sweep: verdict.sweep }),
        stopReason: trajectory.loops.at(-1)?.stop_reason ?? null,
        goldLoop: goldLoopOf(trajectory, hops?.get(key), sources.support ?? 'any'),
        claims: claims === null ? targets.length : own.length,
        deciderClaims: verdict.claims,
        learnt: learntFrom?.(asks),
        ...(options.signals && {
          signals: await cheapSignals(
            trajectory,
            own.map((claim) => claimText(claim, text ?? defaultClaimText(claim.source))),
            { evidenceText: identity.evidenceText, policy, pages: pages.get(key) },
          ),
        }),
        ...(extracted.extractors.length > 0 && { answers: extracted.of(trajectory), native: extracted.native(trajectory) }),
      });
    }
    options.onProgress?.(seen, hops?.size ?? null);
  }
  for (const key of hops?.keys() ?? []) rowEnd = Math.max(rowEnd, Number(key.slice(0, key.indexOf('/'))) + 1);
  // Questions that the agent left out (no follow-ups, no pages) are not in the tables, only counted.
  const ran = typeof manifest.counts.asked === 'number' ? manifest.counts.asked : 0;
  const rows = Math.max(seen, hops?.size ?? 0, ran);
  excluded.no_loop = rows - seen;
  const table =
    manifest.outputs.find((one) => one.name.startsWith('records.')) ?? manifest.outputs.find((one) => one.name.startsWith('trajectories.'));
  return {
    folder,
    dataset,
    questions,
    excluded,
    rows,
    rowEnd,
    identity,
    agent,
    corpus,
    splitter,
    sha256: table?.sha256 ?? '',
    sources: manifest.inputs,
  };
}

/**
 * The manifests of everything that `loadRun` reads; they hold the hashes of all tables, so they stand for them as a command's inputs.
 * Throws InputError for the first that is missing or of another kind.
 */
export async function runManifests(folder: string, sources: RunSources): Promise<string[]> {
  const parts = [
    [folder, 'trajectories'],
    ...(sources.claims === null ? [] : [[runFolder.claims(folder, sources.claims), 'claims'] as const]),
    [runFolder.embeddings(folder, sources.encoder), 'embeddings'],
    [runFolder.verdicts(folder, sources.decider), 'verdicts'],
    ...(sources.drafter === undefined ? [] : [[sources.drafter, 'drafter'] as const]),
    ...(sources.extractors ?? []).map((name) => [runFolder.extractions(folder, name), 'extractions'] as const),
  ] as const;
  for (const [part, kind] of parts) await readManifest(part, kind);
  return parts.map(([part]) => join(part, MANIFEST_NAME));
}

function runDetails(folder: string, manifest: Manifest): { dataset: string; splitter: string; agent: Json; corpus: Json } {
  const { dataset, splitter, agent, retriever, budget, top } = manifest.details;
  for (const [name, value] of Object.entries({ dataset, splitter })) {
    if (typeof value !== 'string') throw new InputError('the manifest does not say it', { file: folder, field: `details.${name}` });
  }
  return {
    dataset: dataset as string,
    splitter: splitter as string,
    agent: { agent: agent ?? null, budget: budget ?? null },
    corpus: { retriever: retriever ?? null, top: top ?? null },
  };
}

async function encoderOf(folder: string): Promise<EncoderIdentity> {
  const { details } = await readManifest(folder, 'embeddings');
  const parsed = encoderIdentity.safeParse(details.encoder);
  if (!parsed.success) throw new InputError("the manifest does not say the encoder's identity", { file: folder, field: 'details.encoder' });
  return parsed.data;
}

interface OneVerdict {
  claims: number | null;
  fires: boolean[];
  firesBy: { all_match: boolean[]; any_match: boolean[] } | undefined;
  pairs: Int32Array | null;
  matchedAt: number[] | null;
  claimPairs: Int32Array[] | null;
  sweep: { fires: boolean[]; pairs: Int32Array }[] | undefined;
}

async function readVerdicts(
  run: RunFolderManifest,
  name: string,
  policy: 'all_match' | 'any_match',
): Promise<{ verdicts: Map<string, OneVerdict>; decider: RunIdentity['decider'] }> {
  const folder = runFolder.verdicts(run.folder, name);
  const stored = await openVerdicts(folder);
  await checkVerdictsOfRun(run, { folder, name, manifest: stored.manifest });
  const verdicts = new Map<string, OneVerdict>();
  for await (const { question, rows } of stored.questions()) {
    const all = questionVerdict(question, rows, stored.scan, { policy: 'all_match' });
    const any = questionVerdict(question, rows, stored.scan, { policy: 'any_match' });
    verdicts.set(questionKey(question), {
      claims: question.claims,
      fires: policy === 'all_match' ? all.firesByLoop : any.firesByLoop,
      firesBy: question.claims === null ? undefined : { all_match: all.firesByLoop, any_match: any.firesByLoop },
      pairs: question.claims === null ? null : Int32Array.from(all.pairsByLoop),
      matchedAt: all.matchedAt,
      claimPairs: claimPairs(question, rows, stored.scan),
      sweep: matchMarginSweep(question, rows, { scan: stored.scan, policy }),
    });
  }
  const { decider, claims } = stored.details;
  return { verdicts, decider: { name: stored.details.name, identity: decider, claims } };
}

type GoldAnswers = Pick<HopRecord, 'row' | 'question_id' | 'question' | 'answer' | 'aliases'>;

/** The gold hops of every record, its question and its answers, and its pages where they are kept; no hops at all where the run has no records. */
async function readGold(
  folder: string,
  manifest: Manifest,
  { covering, keepPages }: { covering: 'answer' | 'paragraph'; keepPages: boolean },
): Promise<{ hops: Map<string, GoldHops> | undefined; records: GoldAnswers[]; pages: Map<string, HopRecord['pages']> }> {
  const records: GoldAnswers[] = [];
  const pages = new Map<string, HopRecord['pages']>();
  if (!manifest.outputs.some((one) => /^records\.(arrow|jsonl)$/.test(one.name))) return { hops: undefined, records, pages };
  const hops = new Map<string, GoldHops>();
  for await (const record of readTable(folder, manifest, 'records', recordColumns)) {
    hops.set(questionKey(record), goldHops(record, covering));
    if (keepPages) pages.set(questionKey(record), record.pages);
    const { row, question_id, question, answer, aliases } = record;
    records.push({ row, question_id, question, answer, aliases });
  }
  return { hops, records, pages };
}

/**
 * A gold page that the pool does not have can never be retrieved. Null where the record has no gold labels at all, and where a step of its
 * decomposition names no paragraph of the pool: what would cover that step is not known.
 */
function goldLoopOf(trajectory: Trajectory, gold: GoldHops | undefined, rule: CoverageRule): number | null {
  if (!gold || gold.missingSteps.length > 0) return null;
  return gold.missingTitles.length > 0 ? Infinity : goldLoop(trajectory, gold.hops, rule);
}

function marginsOf(
  { loops }: Trajectory,
  targets: readonly Float32Array[],
  vectors: Vectors,
  identity: RunIdentity,
): { margins: Float64Array; claimMargins: Float64Array[] } {
  const tracker = createMargin({
    targets,
    aggregation: identity.aggregation,
    over: identity.policy === 'all_match' ? 'all' : 'any',
  });
  const margins = new Float64Array(loops.length);
  const claimMargins = targets.map(() => new Float64Array(loops.length));
  for (const [at, { sentences }] of loops.entries()) {
    // An empty sentence has no embedding and is no evidence.
    const brought = sentences.filter((one) => one.text.trim() !== '');
    const { margin, perClaim } = tracker.observe(
      brought.map((one) => vectors.get('passage', evidenceText(one.title, one.text, identity.evidenceText))),
    );
    margins[at] = margin as number;
    for (const [claim, value] of perClaim.entries()) (claimMargins[claim] as Float64Array)[at] = value;
  }
  return { margins, claimMargins };
}
