import { type EncoderIdentity, sameEncoderField } from '../core/embeddings.js';
import { InputError } from '../core/errors.js';
import { canonicalJson, sha256 } from '../core/hash.js';
import type { Json, Manifest } from '../core/manifest.js';
import { DATASET_SENTENCES } from '../core/sentences.js';
import type { LoadedRun, RunIdentity } from './load-run.js';
import { type DatasetRun, type Exclusions, type QuestionRun, noExclusions } from './question-run.js';

export const REPEATS = ['first', 'rows'] as const;
/** What becomes of rows whose id stood before in the same dataset: only the first is kept, or all are, drawn together by the bootstrap. */
export type Repeats = (typeof REPEATS)[number];

export interface JoinedDataset extends DatasetRun {
  sha256: string;
  files: Manifest['inputs'];
}

export interface JoinedRuns {
  datasets: JoinedDataset[];
  identity: RunIdentity;
  /** The different ones. */
  agents: Json[];
  corpora: Json[];
  /** `dataset` and the splitters used, sorted. */
  splitter: string[];
}

/**
 * Runs of the same dataset become one, in the order given (MuSiQue's train and dev files). Throws InputError where runs were made with
 * different encoders, deciders, claim sources or splitters, or where ids repeat and it was not said what to do with them (known fault P7).
 */
export function joinRuns(runs: readonly LoadedRun[], repeats?: Repeats): JoinedRuns {
  const first = runs[0];
  if (!first) throw new InputError('no run was given');
  for (const run of runs) sameIdentity(first, run);
  const splitter = [...new Set(runs.map((run) => run.splitter))].sort();
  const splitters = splitter.filter((one) => one !== DATASET_SENTENCES);
  if (splitters.length > 1) {
    throw new InputError(`the runs' sentences were split by ${splitters.join(' and ')}: one calibration has one splitter`);
  }
  const names = [...new Set(runs.map((run) => run.dataset))];
  const datasets = names.map((name) =>
    joined(
      name,
      runs.filter((run) => run.dataset === name),
      repeats,
    ),
  );
  const agents = different(runs.map((run) => run.agent));
  const corpora = different(runs.map((run) => run.corpus));
  return { datasets, identity: first.identity, agents, corpora, splitter };
}

function different(values: readonly Json[]): Json[] {
  return values.filter((one, at) => values.findIndex((other) => canonicalJson(other) === canonicalJson(one)) === at);
}

function joined(dataset: string, runs: readonly LoadedRun[], repeats: Repeats | undefined): JoinedDataset {
  const questions: QuestionRun[] = [];
  const excluded = noExclusions();
  const seen = new Set<string>();
  let [offset, rows, repeated] = [0, 0, 0];
  let example: QuestionRun | undefined;
  for (const run of runs) {
    for (const question of run.questions) {
      if (seen.has(question.id)) {
        repeated++;
        example ??= question;
        if (repeats === 'first') continue;
      }
      seen.add(question.id);
      questions.push({ ...question, row: question.row + offset });
    }
    for (const reason of Object.keys(excluded) as (keyof Exclusions)[]) excluded[reason] += run.excluded[reason];
    offset += run.rowEnd;
    rows += run.rows;
  }
  if (example && repeats === undefined) {
    throw new InputError(
      `${repeated} rows of ${dataset} repeat an earlier question id, the first ${JSON.stringify(example.id)} in row ${example.row}; say --repeats first (keep the first of each) or --repeats rows (keep all, intervals clustered by id)`,
    );
  }
  if (repeats === 'first') excluded.repeated = repeated;
  const hashes = runs.map((run) => run.sha256);
  return {
    dataset,
    questions,
    excluded,
    rows,
    sha256: hashes.length === 1 ? (hashes[0] as string) : sha256(hashes.join('\n')),
    files: runs.flatMap((run) => run.sources),
  };
}

function sameIdentity(first: LoadedRun, other: LoadedRun): void {
  for (const field of Object.keys(first.identity) as (keyof RunIdentity)[]) {
    const [a, b] = [canonicalJson(first.identity[field]), canonicalJson(other.identity[field])];
    if (a !== b && !(field === 'encoder' && oneEncoder(first.identity.encoder, other.identity.encoder))) {
      throw new InputError(
        `${field} differs between the runs: ${first.folder} has ${a}, ${other.folder} has ${b}; calibrate and replay need runs of one kind`,
      );
    }
  }
}

/** A server's encoder measures a little differently on each machine that asks it. */
function oneEncoder(a: EncoderIdentity, b: EncoderIdentity): boolean {
  return (Object.keys(a) as (keyof EncoderIdentity)[]).every((name) => sameEncoderField(name, a[name], b[name]));
}
