import { join } from 'node:path';
import { type Claim, claimColumns } from '../core/claims.js';
import { InputError } from '../core/errors.js';
import { MANIFEST_NAME, type Manifest, readManifest } from '../core/manifest.js';
import { runFolder } from '../core/run-folder.js';
import { readTable } from '../core/tables.js';
import { checkClaimsOfRun } from '../evaluate/index.js';
import { folderName } from './run-flags.js';

/** The claims of a run and where they came from. */
export interface RunClaims {
  source: string;
  /** The folder's manifest, an input of what is made from them. */
  input: string;
  of: (question: { question_id: string; row: number }) => readonly Claim[];
}

/** Reads `RUN/claims/NAME`. Throws InputError for claims of another run: a claim would be scored against another question's sentences. */
export async function readRunClaims(run: string, manifest: Manifest, name: string): Promise<RunClaims> {
  const folder = runFolder.claims(run, folderName('claims', name));
  const claims = await readManifest(folder, 'claims');
  checkClaimsOfRun({ folder: run, manifest }, { folder, name, manifest: claims });
  const byQuestion = new Map<string, Claim[]>();
  const sources = new Set<string>();
  const keyOf = ({ row, question_id }: { row: number; question_id: string }): string => `${row}/${question_id}`;
  for await (const claim of readTable(folder, claims, 'claims', claimColumns)) {
    const key = keyOf(claim);
    const own = byQuestion.get(key);
    if (own) own.push(claim);
    else byQuestion.set(key, [claim]);
    sources.add(claim.source);
  }
  if (sources.size !== 1) throw new InputError(`holds claims of ${sources.size} sources, expected one`, { file: folder });
  return { source: [...sources].join(), input: join(folder, MANIFEST_NAME), of: (question) => byQuestion.get(keyOf(question)) ?? [] };
}
