import { type Claim, type ClaimSource, claimColumns } from '../src/core/claims.js';
import { InputError } from '../src/core/errors.js';
import { missingGold } from '../src/core/gold-hops.js';
import type { Manifest } from '../src/core/manifest.js';
import { type TableFormat, openOutputFolder } from '../src/core/output-folder.js';
import type { HopRecord } from '../src/core/records.js';
import { noLabels } from './build-labels.js';
import { repairedFaults } from './faults.js';
import { goldClaims, isLabelled } from './gold-claims.js';
import { heuristicClaims } from './heuristic-claims.js';
import type { OpenedRecords } from './open-records.js';
import type { Quarantine, SkipReason } from './quarantine.js';

/** Sources that need no language model. */
export const BUILT_SOURCES = ['gold', 'heuristic'] as const satisfies readonly ClaimSource[];

export interface ClaimOptions {
  source: (typeof BUILT_SOURCES)[number];
  out: string;
  /** Gold: claims of the pages that are there, although another gold page of the question is not; default false. */
  allowMissingGold?: boolean | undefined;
  /** Default `arrow`. */
  format?: TableFormat | undefined;
  /** Nothing is drawn; the manifest names it. Default 13. */
  seed?: number | undefined;
  resume?: boolean | undefined;
  force?: boolean | undefined;
}

/**
 * Builds the hop claims of a file (method.md §2) into an output folder: `claims.arrow` or `claims.jsonl`, `quarantine.jsonl` and the
 * manifest, whose counts say how many questions have how many claims and how many have none (those are in the quarantine file by reason).
 * Throws InputError when gold claims are asked of a file without labels.
 */
export async function buildClaims(opened: OpenedRecords, options: ClaimOptions): Promise<Manifest> {
  const { source, allowMissingGold = false, format = 'arrow', seed = 13 } = options;
  const out = await openOutputFolder({
    dir: options.out,
    kind: 'claims',
    command: 'claims build',
    options: { dataset: opened.dataset, ids: opened.ids, source, 'allow-missing-gold': allowMissingGold, format },
    seed,
    inputs: opened.inputs,
    resume: options.resume,
    force: options.force,
  });
  if (out.finished) return out.finished;

  const perK: { [k: string]: number } = {};
  const counts = { questions: 0, claims: 0, no_claims: 0 };
  let labelled = source !== 'gold';
  async function* claims(): AsyncGenerator<Claim> {
    for await (const record of opened.records) {
      labelled ||= isLabelled(record);
      counts.questions++;
      const made = source === 'gold' ? goldOrSkipped(record, opened.quarantine, allowMissingGold) : heuristicClaims(record);
      if (made.length === 0) counts.no_claims++;
      perK[made.length] = (perK[made.length] ?? 0) + 1;
      counts.claims += made.length;
      yield* made;
    }
  }
  try {
    await out.table('claims', claimColumns, claims(), format);
    if (!labelled) throw noLabels(opened.file);
  } catch (error) {
    if (error instanceof InputError) await out.discard();
    throw error;
  }
  await out.jsonl('quarantine.jsonl', opened.quarantine.entries);
  return out.finish({
    counts: { ...counts, claims_per_question: perK, repaired: { ...opened.quarantine.repaired } },
    quarantined: opened.quarantine.skipped,
    details: { dataset: opened.dataset, dataset_version: opened.version, source, splitter: opened.splitter },
  });
}

function goldOrSkipped(record: HopRecord, quarantine: Quarantine, allowMissingGold: boolean): Claim[] {
  const place = { row: record.row, question_id: record.question_id };
  for (const fault of repairedFaults(record)) quarantine.repair({ ...place, reason: fault.kind, field: fault.field, detail: fault.detail });
  const skip = (reason: SkipReason, detail: string): Claim[] => {
    quarantine.skip({ ...place, reason, detail });
    return [];
  };
  if (!isLabelled(record)) return skip('no_supporting', 'no supporting facts and no decomposition');
  const { claims, found } = goldClaims(record);
  const missing = missingGold(found);
  if (missing !== null && !allowMissingGold) return skip('gold_page_missing', missing);
  if (claims.length === 0) return skip('no_claims', 'the supporting facts yield no claim');
  return claims;
}
