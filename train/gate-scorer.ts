import { LABELS } from '../src/core/labels.js';
import type { VerifierExport } from '../src/core/verifier-export.js';
import { openVerifierGraph, treeScorer } from '../runtime/index.js';
import type { GateScorer } from './parity.js';

/** Opens an exported graph with the scorer that will serve it: what passes the gate is what answers later. */
export async function openGateScorer(file: string, made: VerifierExport): Promise<GateScorer> {
  const graph = await openVerifierGraph(file, { architecture: made.architecture });
  const { match = [], partial = [], null: nothing = [] } = made.label_ids;
  const scorer = treeScorer(graph, { labels: { match, partial, null: nothing } });
  return {
    score: async (prompts, { onProgress, signal }) => {
      const shared = commonPrefix(prompts);
      // All prompts begin with the system message; it is read once.
      if (shared.length > 0) await scorer.hold(shared);
      const scores = await scorer.score(
        prompts.map((ids) => ({ ids, keep: [] })),
        { signal, onProgress: (done) => onProgress(done) },
      );
      return scores.map((one) => LABELS.map((label) => one[`lp_${label}`]));
    },
    close: () => graph.close(),
  };
}

/** What all prompts begin with; the last token of each is left out, since scores are read behind it. */
function commonPrefix(prompts: readonly (readonly number[])[]): readonly number[] {
  const [first = [], ...others] = prompts;
  let length = Math.max(0, first.length - 1);
  for (const other of others) {
    let at = 0;
    while (at < length && at < other.length - 1 && other[at] === first[at]) at++;
    length = at;
  }
  return first.slice(0, length);
}
