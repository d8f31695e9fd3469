import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type Encoder, createGate, liveVerifierDecider, openDrafter, openVerifier, readProfile } from '../../runtime/index.js';
import { type Claim, claimColumns } from '../../src/core/claims.js';
import { readManifest } from '../../src/core/manifest.js';
import { runFolder } from '../../src/core/run-folder.js';
import { collect, readTable } from '../../src/core/tables.js';
import { gate as gated, loadRun } from '../../src/evaluate/index.js';
import { liveRun } from './live-run.js';

export interface ClaimFree {
  questions: number;
  loops: number;
  calls: number;
  fired: number;
  /** Questions whose claims were made: those with a call. */
  claimed: number;
}

/**
 * Claim-free routing (method.md §7) of a whole run by a live gate, with a drafter for the margin and an imported verifier that reads claims, against
 * `replay` on the cached verdicts of the same run: margins, verdicts, calls and stops have to be equal, and claims made at first calls alone.
 */
export async function checkClaimFree(
  run: string,
  parts: { encoder: Encoder; drafter: string; verifier: string; profile: string; claims: string; verdicts: string; threads?: number },
): Promise<ClaimFree> {
  const profile = await readProfile(parts.profile);
  const verifier = await openVerifier(parts.verifier, { provider: 'cpu', threads: parts.threads ?? 1 });
  const drafter = await openDrafter(parts.drafter, { encoder: parts.encoder.identity, warn: () => undefined });
  const folder = runFolder.claims(run, parts.claims);
  const known = new Map<string, Claim[]>();
  for (const claim of await collect(readTable(folder, await readManifest(folder, 'claims'), 'claims', claimColumns)))
    known.set(claim.question, [...(known.get(claim.question) ?? []), claim]);
  const made: string[] = [];
  try {
    const { sessions } = await liveRun(run, (log) =>
      createGate({
        encoder: parts.encoder,
        drafter,
        claims: {
          source: profile.claim_source,
          make: ({ question }) => {
            made.push(question);
            return Promise.resolve(known.get(question) ?? []);
          },
        },
        profile,
        decider: liveVerifierDecider(verifier),
        mode: 'enforce',
        audit: { skips: 0, questions: 0 },
        log,
      }),
    );
    const loaded = await loadRun(run, {
      decider: parts.verdicts,
      claims: parts.claims,
      encoder: parts.encoder.identity.name,
      drafter: parts.drafter,
    });
    const policy = gated(profile.tau);
    const cached = new Map(loaded.questions.map((one) => [one.row, one]));
    const sums = { questions: 0, loops: 0, calls: 0, fired: 0, claimed: 0 };
    for (const { open, loops, claims, end } of sessions) {
      const question = cached.get(Number(open.session));
      assert.ok(question && end, open.session);
      const { stop, calls, stoppedBy } = policy(question);
      const place = `row ${open.session}`;
      assert.deepEqual([end.loops, end.calls, end.errors], [stop, calls, 0], place);
      assert.equal(end.stopped_by, stoppedBy === 'decider' ? 'covered' : 'maxSteps', place);
      for (const { loop, margin, asked, covered } of loops) {
        assert.equal(margin, question.margins[loop - 1], `${place}, loop ${loop}`);
        assert.equal(asked, margin !== null && margin <= profile.tau, `${place}, loop ${loop}`);
        if (asked) assert.equal(covered, question.fires[loop - 1], `${place}, loop ${loop}`);
      }
      // Claims at the first call, and none without a call.
      assert.equal(claims?.loop ?? null, loops.find(({ asked }) => asked)?.loop ?? null, place);
      sums.questions++;
      sums.loops += loops.length;
      sums.calls += calls;
      if (stoppedBy === 'decider') sums.fired++;
      if (claims) sums.claimed++;
    }
    assert.equal(made.length, sums.claimed);
    assert.equal(new Set(made).size, made.length);
    return sums;
  } finally {
    await verifier.close();
    await drafter.close();
  }
}

/** Where `calibrate` puts it. */
export const profileIn = (calibration: string): string => join(calibration, 'profile.json');
