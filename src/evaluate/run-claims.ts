import { join } from 'node:path';
import { refuseAfterLoop } from '../core/after-loop.js';
import { type Claim, type ClaimSource, claimColumns } from '../core/claims.js';
import { InputError } from '../core/errors.js';
import { MANIFEST_NAME, readManifest } from '../core/manifest.js';
import { questionKey } from '../core/question-key.js';
import { runFolder } from '../core/run-folder.js';
import { readTable } from '../core/tables.js';
import { type RunFolderManifest, checkClaimsOfRun } from './same-run.js';

/** The claims of a run and where they came from. */
export interface RunClaims {
  source: ClaimSource;
  /** The folder's manifest, an input of what is made from them. */
  input: string;
  /** Empty for a question without claims. */
  of: (question: { question_id: string; row: number }) => readonly Claim[];
}

/**
 * Reads `RUN/claims/NAME`. Throws InputError for claims of another run (a claim would be scored against another question's sentences), of
 * several sources, made after some loop, and where there is none.
 */
export async function readRunClaims(run: RunFolderManifest, name: string): Promise<RunClaims> {
  const folder = runFolder.claims(run.folder, name);
  const manifest = await readManifest(folder, 'claims');
  checkClaimsOfRun(run, { folder, name, manifest });
  refuseAfterLoop(folder, manifest);
  const byQuestion = new Map<string, Claim[]>();
  let source: ClaimSource | undefined;
  for await (const claim of readTable(folder, manifest, 'claims', claimColumns)) {
    source ??= claim.source;
    if (claim.source !== source)
      throw new InputError(`got claims of the sources ${source} and ${claim.source}, expected one`, { file: folder, row: claim.row });
    const own = byQuestion.get(questionKey(claim));
    if (own) own.push(claim);
    else byQuestion.set(questionKey(claim), [claim]);
  }
  if (source === undefined) throw new InputError('holds no claim', { file: folder });
  return { source, input: join(folder, MANIFEST_NAME), of: (question) => byQuestion.get(questionKey(question)) ?? [] };
}
