import { markedReader } from './marked.js';
import { readFlashrag } from './flashrag.js';
import { readPlain } from './plain.js';
import { reactReader } from './react.js';
import type { TrajectoryReader } from './trajectory.js';

export type { ReadDocument, ReadTrajectory, TrajectoryReader } from './trajectory.js';

/** The formats of `trajectories import` (architecture.md §5). */
export const TRAJECTORY_FORMATS = ['jsonl', 'flashrag', 'r1-searcher', 'search-r1', 'react'] as const;
export type TrajectoryFormat = (typeof TRAJECTORY_FORMATS)[number];

/** The reader of a format. `textField`: where the transcript stands, for formats that are transcripts. */
export function trajectoryReader(format: TrajectoryFormat, textField?: string): TrajectoryReader {
  return READERS[format](textField);
}

const READERS: { readonly [format in TrajectoryFormat]: (textField?: string) => TrajectoryReader } = {
  jsonl: () => readPlain,
  flashrag: () => readFlashrag,
  'r1-searcher': (field) => markedReader('r1-searcher', field),
  'search-r1': (field) => markedReader('search-r1', field),
  react: (field) => reactReader(field),
};

/** What a reader passed over in a trajectory that is used. */
export const IMPORT_REPAIRS = {
  lone_surrogate: 'half of a surrogate pair, read as U+FFFD',
  query_without_documents: 'a query was never answered: no loop',
  query_cut_off: 'the transcript ends inside a query',
  unknown_documents: 'documents in no known layout, taken as one without a title',
  other_action: 'an action that is no search, or has no known form',
} as const;
