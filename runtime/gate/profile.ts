import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { CLAIM_SOURCES, CLAIM_TEXTS } from '../../src/core/claims.js';
import { EVIDENCE_TEXTS, encoderIdentity } from '../../src/core/embeddings.js';
import { InputError, shown } from '../../src/core/errors.js';
import { canonicalJson } from '../../src/core/hash.js';
import { writeFileAtomic } from '../../src/core/output-folder.js';
import { AGGREGATIONS } from './margin.js';

const sha256Hex = z.string().regex(/^[0-9a-f]{64}$/, 'expected a sha256 in hex');
const share = z.number().min(0).max(1);
/** A figure with its interval; null where it is undefined. */
const measured = z.strictObject({ value: z.nullable(z.number()), low: z.nullable(z.number()), high: z.nullable(z.number()) });

const counts = z.strictObject({ rows: z.int(), unique: z.int(), valid: z.int() });

const onTraining = z.strictObject({
  tau: z.number(),
  call_cut: z.number(),
  /** One for each constrained set: each training dataset, or the pool. */
  agreement: z.array(share),
  coverage_safety: z.array(z.nullable(share)),
});

const selection = z.strictObject({
  tau: z.number(),
  extent: z.enum(['never calls', 'calls always', 'between']),
  before: onTraining,
  after: onTraining,
  unchanged: z.nullable(z.enum(['flat', 'infeasible'])),
  candidates: z.int(),
  feasible: z.int(),
  refused: z.strictObject({ agreement: z.int(), safety: z.int(), guarantee: z.int() }),
});

const guarantee = z.strictObject({
  delta: z.number(),
  bar: share,
  /** The smallest certified τ. */
  floor: z.number(),
  parts: z.array(
    z.strictObject({
      dataset: z.string(),
      /** Null where nothing is certified. */
      tau: z.nullable(z.number()),
      questions: z.int(),
      questions_needed: z.int(),
      agreeing_needed: z.int(),
      p: share,
    }),
  ),
});

const heldOut = z.strictObject({
  questions: counts,
  call_cut: measured,
  agreement: measured,
  coverage_safety: measured,
  /** The always-verify decider's own, on the same questions. */
  own_safety: z.nullable(share),
  delta_coverage: measured,
  added_loops: measured,
});
export type HeldOutFigures = z.infer<typeof heldOut>;

const point = z.strictObject({ tau: z.number(), call_cut: z.number(), agreement: share, coverage_safety: z.nullable(share) });

const fold = z.strictObject({
  target: z.string(),
  trained_on: z.array(z.string()),
  tau: z.number(),
  selection,
  guarantee: z.nullable(guarantee),
  /** All rows of the target, and those outside its training split. */
  all: heldOut,
  held_out: z.nullable(heldOut),
  miss: z.boolean(),
  exact: point,
  frontier: point,
  /** Held out, by number of claims: where it fails. */
  slices: z.array(z.strictObject({ claims: z.int(), questions: z.int(), agreement: share, call_cut: z.number() })),
});
export type ProfileFold = z.infer<typeof fold>;

const quantiles = z.strictObject({
  dataset: z.string(),
  /** State margins: one a loop. */
  loops: z.int(),
  margins: z.array(z.number()),
  /** Best cosine of each claim with the evidence so far: one a claim and loop. */
  cosines: z.array(z.number()),
});

/** Margins after the first loop, one a question id, counted in bins of fixed width: what live margins are compared with for drift. */
const firstMargins = z.strictObject({
  width: z.number().positive(),
  datasets: z.array(
    z.strictObject({
      dataset: z.string(),
      questions: z.int().nonnegative(),
      first_bin: z.int().nonnegative(),
      counts: z.array(z.int().nonnegative()),
    }),
  ),
});

/** What the gate logs that τ was chosen on leave open. */
const fromLog = z.strictObject({
  logs: z.array(
    z.strictObject({ name: z.string(), sessions: z.int(), questions: z.int(), unseen: z.int(), excluded: z.record(z.string(), z.int()) }),
  ),
  /** Questions of which loops that the gate at τ comes to were not observed, since the agent stopped where the decider fired. */
  unseen: z.int(),
  /** On all questions at τ: one call at every loop that nobody saw (what τ was chosen by), and no further call. */
  call_cut: z.strictObject({ pessimistic: z.number(), optimistic: z.number() }),
});

/**
 * A calibrated threshold with everything that it belongs to and everything known about it (architecture.md §4). A file that lacks a field
 * is invalid: a threshold without its provenance carries no meaning (known faults P31, P34).
 */
export const profileSchema = z.strictObject({
  kind: z.literal('hopgate calibration profile'),
  format_version: z.literal(1),
  created_by: z.strictObject({ product: z.string(), version: z.string(), command: z.string(), seed: z.int() }),
  tau: z.number().min(-1).max(2),
  extent: z.enum(['never calls', 'calls always', 'between']),
  /** What τ belongs to. */
  encoder: encoderIdentity,
  aggregation: z.enum(AGGREGATIONS),
  policy: z.enum(['all_match', 'any_match']),
  claim_source: z.enum(CLAIM_SOURCES),
  claim_text: z.nullable(z.enum(CLAIM_TEXTS)),
  /** Set where drafted slots stand for the claims; `claim_text` is null then. */
  drafter_sha256: z.nullable(sha256Hex),
  evidence_text: z.enum(EVIDENCE_TEXTS),
  /** `dataset` where sentences came with the data, and at most one splitter's name and version. */
  splitter: z.array(z.string()),
  decider: z.strictObject({ name: z.string(), identity: z.json(), claims: z.nullable(z.string()) }),
  /** Who made the loops and from what, the different ones: a dataset's follow-ups may come from another model than the next one's. */
  agents: z.array(z.json()),
  corpora: z.array(z.json()),
  /** What τ was chosen on. */
  datasets: z.array(
    z.strictObject({
      name: z.string(),
      /** sha256 of the run's records; of several runs, of their hashes in order. */
      sha256: sha256Hex,
      files: z.array(z.strictObject({ name: z.string(), sha256: sha256Hex, bytes: z.int() })),
      questions: counts,
      training: z.int(),
      excluded: z.strictObject({ no_claims: z.int(), no_loop: z.int(), undecided: z.int(), repeated: z.int() }),
    }),
  ),
  split: z.strictObject({ rule: z.enum(['first rows', 'listed']), rows: z.nullable(z.int()), list_sha256: z.nullable(sha256Hex) }),
  repeats: z.nullable(z.enum(['first', 'rows'])),
  /** How. */
  mode: z.enum(['leave-one-dataset-out', 'target', 'k-fold']),
  trained_on: z.array(z.string()),
  bar: share,
  constraint: z.enum(['per-dataset', 'pooled']),
  safety_reference: z.union([z.enum(['own', 'none']), z.number()]),
  /** No dataset had supporting facts: agreement alone decided. */
  without_gold: z.boolean(),
  /**
   * Left out where no question of the target's own chose τ. Else the selection is on these questions, `prior_weight` pseudo-questions of the other
   * datasets, and `spare` ones that never agree; the guarantee is the dataset's alone.
   */
  own_questions: z.optional(
    z.strictObject({
      dataset: z.string(),
      questions: z.int().positive(),
      prior_weight: z.number().nonnegative(),
      spare: z.int().nonnegative(),
    }),
  ),
  grid: z.union([z.literal('exact'), z.number()]),
  guarantee: z.nullable(guarantee),
  selection,
  /** How far it holds. */
  resamples: z.int(),
  folds: z.array(fold),
  quantiles: z.strictObject({ probabilities: z.array(share), datasets: z.array(quantiles) }),
  /** Left out in profiles that were written before it: then drift cannot be tested. */
  first_margins: z.optional(firstMargins),
  /** Left out where τ was chosen on cached runs, whose loops are all known. */
  from_log: z.optional(fromLog),
  /** What the gate does when it cannot speak. */
  fallback: z.strictObject({ no_claims: z.literal('call'), no_evidence: z.literal('margin 2') }),
  /** Differences under which the profile is knowingly applied; empty as calibrated. */
  transferred: z.array(z.string()),
});
export type Profile = z.infer<typeof profileSchema>;

/** What single fields cannot say: parts that name the same thing have to agree. The first disagreement, or undefined. */
function contradiction(profile: Profile): { field: string; message: string } | undefined {
  const { selection: chosen, quantiles: spread } = profile;
  if (profile.tau !== chosen.tau) return { field: 'tau', message: `got ${profile.tau}, expected ${chosen.tau} as in selection.tau` };
  if (profile.extent !== chosen.extent)
    return { field: 'extent', message: `got ${shown(profile.extent)}, expected ${shown(chosen.extent)} as in selection.extent` };
  const wrongFold = profile.folds.findIndex((one) => one.tau !== one.selection.tau);
  if (wrongFold >= 0) return { field: `folds.${wrongFold}.tau`, message: "expected the tau of the fold's own selection" };
  if (profile.folds.length === 0 && profile.mode !== 'k-fold')
    return { field: 'folds', message: 'got none: nothing is known about how this τ holds' };
  if (spread.probabilities.length === 0) return { field: 'quantiles.probabilities', message: 'got none' };
  for (const { name } of profile.datasets) {
    const own = spread.datasets.find((one) => one.dataset === name);
    if (!own) return { field: 'quantiles.datasets', message: `got none of ${name}` };
    if (own.margins.length !== spread.probabilities.length || own.cosines.length !== spread.probabilities.length) {
      return {
        field: 'quantiles.datasets',
        message: `${name}: expected ${spread.probabilities.length} margins and cosines, one for each probability`,
      };
    }
  }
  return wrongFirstMargins(profile);
}

function wrongFirstMargins({ first_margins: kept }: Profile): { field: string; message: string } | undefined {
  const field = 'first_margins.datasets';
  for (const { dataset, questions, first_bin, counts: bins } of kept?.datasets ?? []) {
    const sum = bins.reduce((total, one) => total + one, 0);
    if (sum !== questions) return { field, message: `${dataset}: the bins hold ${sum} questions, expected ${questions}` };
    // Margins lie in [0, 2].
    if ((first_bin + bins.length - 1) * (kept as { width: number }).width > 2 + 1e-9)
      return { field, message: `${dataset}: its last bin starts above 2, the largest margin` };
  }
  return undefined;
}

/** Reads a profile file. Throws InputError naming the field when one is missing, unknown or of another form. */
export async function readProfile(path: string): Promise<Profile> {
  let content: string;
  try {
    content = await readFile(path, 'utf8');
  } catch (error) {
    throw new InputError((error as NodeJS.ErrnoException).code === 'EISDIR' ? 'a folder, expected a profile file' : 'no such file', {
      file: path,
    });
  }
  let value: unknown;
  try {
    value = JSON.parse(content);
  } catch (error) {
    throw new InputError(`not JSON (${(error as Error).message})`, { file: path });
  }
  return parseProfile(value, path);
}

/** Checks a value that should be a profile. `file` is only for the message. */
export function parseProfile(value: unknown, file?: string): Profile {
  const parsed = profileSchema.safeParse(value);
  if (parsed.success) {
    const wrong = contradiction(parsed.data);
    if (wrong) throw new InputError(`not a valid calibration profile: ${wrong.message}`, { file, field: wrong.field });
    return parsed.data;
  }
  const issue = parsed.error.issues[0];
  throw new InputError(`not a valid calibration profile: ${issue?.message ?? 'invalid'}`, {
    file,
    field: issue === undefined || issue.path.length === 0 ? undefined : issue.path.join('.'),
  });
}

/** The profile as it stands in its file: keys sorted, so that equal profiles are equal bytes. */
export function profileText(profile: Profile): string {
  return `${JSON.stringify(JSON.parse(canonicalJson(profileSchema.parse(profile))), null, 2)}\n`;
}

export async function writeProfile(path: string, profile: Profile): Promise<void> {
  await writeFileAtomic(path, profileText(profile));
}
