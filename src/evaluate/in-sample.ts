import type { Profile } from '../../runtime/index.js';
import type { JoinedDataset } from './join-runs.js';
import type { Replay, ReplayedDataset } from './replay.js';

/** How a table says that its figures are no held-out ones. */
export const IN_SAMPLE = 'in-sample: τ was chosen on these rows';

/**
 * Whether a profile's τ was chosen on questions of this dataset: it is one of those trained on, and the records are the same, or one of the
 * source files is.
 */
export function chosenOn(
  profile: Pick<Profile, 'datasets' | 'trained_on'>,
  run: Pick<JoinedDataset, 'dataset' | 'sha256' | 'files'>,
): boolean {
  const files = new Set(run.files.map((one) => one.sha256));
  return profile.datasets.some(
    (one) => profile.trained_on.includes(one.name) && (one.sha256 === run.sha256 || one.files.some((file) => files.has(file.sha256))),
  );
}

/** A replay whose datasets say which of them are in-sample; the pooled figures are as soon as one is. */
export function markInSample(replayed: Replay, profile: Profile, runs: readonly JoinedDataset[]): Replay {
  const known = new Set(runs.filter((run) => chosenOn(profile, run)).map((run) => run.dataset));
  const marked = (one: ReplayedDataset): ReplayedDataset => ({ ...one, inSample: true, inSampleNote: IN_SAMPLE });
  return {
    ...replayed,
    datasets: replayed.datasets.map((one) => (known.has(one.dataset) ? marked(one) : one)),
    pooled: replayed.pooled && known.size > 0 ? marked(replayed.pooled) : replayed.pooled,
  };
}
