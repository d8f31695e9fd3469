import { R1_SEARCHER_MARKS, SEARCH_R1_MARKS, markedReader } from './marked.js';
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
  'r1-searcher': (field) => markedReader(R1_SEARCHER_MARKS, field),
  'search-r1': (field) => markedReader(SEARCH_R1_MARKS, field),
  react: (field) => reactReader(field),
};
