import type { Options as YargsOptions } from 'yargs';
import { AGGREGATIONS, type Aggregation, BUILT_IN_ENCODER, POLICIES, type Profile } from '../../runtime/index.js';
import { CLAIM_TEXTS, type ClaimText } from '../core/claims.js';
import { readManifest, tableSha256 } from '../core/manifest.js';
import { refuseRepeats } from '../core/repeats.js';
import { folderNameOf } from '../core/run-folder.js';
import { EVIDENCE_TEXTS, type EvidenceText } from '../core/embeddings.js';
import { InputError, shown } from '../core/errors.js';
import { type JoinedRuns, REPEATS, type Repeats, type RunSources, joinRuns, loadRun, runManifests } from '../evaluate/index.js';
import type { Terminal } from './command.js';

/** Which artefacts of a run are read: the flags that `calibrate` and `replay` share. */
export interface RunFlags {
  run: string[];
  decider?: string;
  claims?: string;
  encoder?: string;
  'claim-text'?: ClaimText;
  drafter?: string;
  'evidence-text'?: EvidenceText;
  aggregation?: Aggregation;
  policy?: (typeof POLICIES)[number];
  support?: 'any' | 'all';
  covering?: 'answer' | 'paragraph';
  repeats?: Repeats;
}

export const runOptions = {
  decider: { type: 'string', describe: 'verdicts that are read: RUN/verdicts/DECIDER' },
  claims: { type: 'string', describe: 'claims that the margin is made of: RUN/claims/CLAIMS; none with --drafter alone' },
  encoder: { type: 'string', describe: `embeddings that are read: RUN/embeddings/ENCODER (default ${BUILT_IN_ENCODER})` },
  'claim-text': { choices: CLAIM_TEXTS, describe: "embedded text of a claim (default: the claim source's own)" },
  drafter: { type: 'string', describe: "folder of a drafter whose slots stand for the claims in the gate's margin" },
  'evidence-text': { choices: EVIDENCE_TEXTS, describe: 'embedded text of a sentence (default title+sentence)' },
  aggregation: { choices: AGGREGATIONS, describe: 'of the cosines with all sentences (default max)' },
  policy: { choices: POLICIES, describe: 'whether all claims have to be covered, or any (default all_match)' },
  support: { choices: ['any', 'all'], describe: 'gold loop: one gold sentence covers a hop (default), or all of them' },
  covering: { choices: ['answer', 'paragraph'], describe: "gold loop, MuSiQue: a hop's sentences with its answer (default), or all" },
  repeats: { choices: REPEATS, describe: 'rows whose question id stood before: keep the first, or all rows (clustered)' },
} as const satisfies { [name: string]: YargsOptions };

/** The sources that the flags, or else the profile, or else the defaults name. Throws InputError where there is no decider or no claims. */
export function sourcesOf(flags: RunFlags, profile?: Profile): RunSources {
  const decider = flags.decider ?? profile?.decider.name;
  // A drafter makes the margin from the question alone.
  const claims = flags.claims ?? (flags.drafter === undefined ? profile?.claim_source : null);
  if (decider === undefined) throw new InputError('--decider: expected the name of verdicts in RUN/verdicts');
  if (claims === undefined) throw new InputError('--claims: expected the name of claims in RUN/claims');
  if (flags.drafter !== undefined && flags['claim-text'] !== undefined) {
    throw new InputError('--claim-text and --drafter: expected one of them, a drafter replaces the claim text');
  }
  if (flags.drafter === undefined && profile?.drafter_sha256 != null && flags['claim-text'] === undefined) {
    throw new InputError(`--drafter: expected the drafter that the profile was made with (sha256 ${profile.drafter_sha256})`);
  }
  folderName('decider', decider);
  if (claims !== null) folderName('claims', claims);
  if (flags.encoder !== undefined) folderName('encoder', flags.encoder);
  // The profile's wording belongs to its own claim source.
  const ownClaims = profile !== undefined && claims === profile.claim_source;
  return {
    decider,
    claims,
    encoder: flags.encoder ?? folderNameOf(profile?.encoder.name ?? BUILT_IN_ENCODER),
    claimText: flags['claim-text'] ?? (ownClaims && flags.drafter === undefined ? (profile.claim_text ?? undefined) : undefined),
    drafter: flags.drafter,
    evidenceText: flags['evidence-text'] ?? profile?.evidence_text,
    aggregation: flags.aggregation ?? profile?.aggregation,
    policy: flags.policy ?? profile?.policy,
    support: flags.support,
    covering: flags.covering,
  };
}

/** Throws InputError where the name of a folder below a run is none: a path would lead out of the run that the result is said to be of. */
export function folderName(flag: string, name: string): string {
  if (!/^\w[\w.-]*$/.test(name)) throw new InputError(`--${flag}: got ${shown(name)}, expected letters, digits, ".", "_" or "-"`);
  return name;
}

/** The manifests of all runs: the inputs of a command that reads them. */
export async function manifestsOf(runs: readonly string[], sources: RunSources): Promise<string[]> {
  const given: { file: string; sha256: string }[] = [];
  for (const run of runs) given.push({ file: run, sha256: tableSha256(run, await readManifest(run, 'trajectories'), 'trajectories') });
  refuseRepeats(given);
  const all = new Set<string>();
  for (const run of runs) for (const manifest of await runManifests(run, sources)) all.add(manifest);
  return [...all];
}

export async function loadRuns(
  runs: readonly string[],
  sources: RunSources,
  repeats: Repeats | undefined,
  terminal: Terminal,
  { signals = false }: { signals?: boolean } = {},
): Promise<JoinedRuns> {
  const progress = terminal.progress('reading');
  try {
    const loaded = [];
    const warned = new Set<string>();
    const warn = (message: string): void => {
      if (!warned.has(message)) terminal.warn(message);
      warned.add(message);
    };
    for (const run of runs) {
      const onProgress = (done: number, total: number | null): void => progress.update(done, total);
      loaded.push(await loadRun(run, sources, { onProgress, signal: terminal.signal, warn, signals }));
    }
    return joinRuns(loaded, repeats);
  } finally {
    progress.done();
  }
}

/** The flags as a manifest stores them; what is left to a default is stored as the default. */
export function storedSources(
  sources: RunSources,
  joined: JoinedRuns | undefined,
  repeats: Repeats | undefined,
): { [name: string]: string | null } {
  return {
    decider: sources.decider,
    claims: sources.claims,
    encoder: sources.encoder,
    'claim-text': sources.claimText ?? joined?.identity.claimText ?? null,
    drafter: joined?.identity.drafterSha256 ?? null,
    'evidence-text': sources.evidenceText ?? 'title+sentence',
    aggregation: sources.aggregation ?? 'max',
    policy: sources.policy ?? 'all_match',
    support: sources.support ?? 'any',
    covering: sources.covering ?? 'answer',
    repeats: repeats ?? null,
  };
}
