import {
  type Encoder,
  type GateLogSink,
  type GateOptions,
  type LiveDecider,
  createGate,
  functionDecider,
  openVectors,
} from '../../runtime/index.js';
import type { ClaimText } from '../../src/core/claims.js';
import { readManifest } from '../../src/core/manifest.js';
import { questionKey } from '../../src/core/question-key.js';
import { runFolder } from '../../src/core/run-folder.js';
import { readTable } from '../../src/core/tables.js';
import { groupTrajectories, trajectoryColumns } from '../../src/core/trajectories.js';
import { type LoadedRun, type RunSources, loadRun } from '../../src/evaluate/load-run.js';
import { readRunClaims } from '../../src/evaluate/run-claims.js';

export interface LoggedRunOptions extends Pick<GateOptions, 'mode' | 'audit' | 'profile' | 'drift' | 'seed' | 'label'> {
  log: GateLogSink;
  /** Claims and their text; embeddings and verdicts of the run are named as in `loadRun`. */
  sources: RunSources & { claims: string; claimText: ClaimText };
  /** The agent goes on after a fire, to the end of its trajectory. Default false. */
  runOn?: boolean | undefined;
}

/**
 * Hands a run's trajectories to a real gate, search by search, as an agent would: stored vectors stand for the encoder, stored verdicts for the
 * decider. A question's budget is the length of its trajectory. Questions without claims are left out, as `loadRun` does.
 */
export async function logRun(folder: string, options: LoggedRunOptions): Promise<LoadedRun> {
  const { log, sources, runOn = false, ...rest } = options;
  const loaded = await loadRun(folder, sources);
  const vectors = await openVectors(runFolder.embeddings(folder, sources.encoder));
  const encoder: Encoder = {
    identity: vectors.identity,
    encode: (texts, role) => Promise.resolve(texts.map((text) => vectors.get(role, text))),
    tokenCount: (text) => text.length,
    close: () => Promise.resolve(),
  };
  const manifest = await readManifest(folder, 'trajectories');
  const claims = await readRunClaims({ folder, manifest }, sources.claims);
  const known = new Map(loaded.questions.map((one) => [questionKey({ question_id: one.id, row: one.row }), one]));
  const decider: LiveDecider = functionDecider(({ id, loops }) => known.get(id)?.fires[loops.length - 1] as boolean, {
    name: loaded.identity.decider.name,
    identity: loaded.identity.decider.identity,
  });
  const gate = createGate({ encoder, decider, claims: { source: claims.source, text: sources.claimText }, log, ...rest });
  for await (const trajectory of groupTrajectories(readTable(folder, manifest, 'trajectories', trajectoryColumns))) {
    const key = questionKey(trajectory);
    const own = claims.of(trajectory);
    if (!known.has(key)) continue;
    const session = await gate.open(own[0]?.question as string, {
      id: key,
      questionId: trajectory.question_id,
      claims: own,
      runOn,
      bounds: { maxSteps: trajectory.loops.length, noProgress: null },
    });
    for (const { query, sub_answer: subAnswer, sentences } of trajectory.loops) {
      if (session.stoppedBy !== null) break;
      await session.observe(sentences, { query, subAnswer });
    }
    session.finish();
  }
  return loaded;
}
