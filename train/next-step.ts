import { type VerifierPlan, readVerifierPlan } from '../src/core/verifier-job.js';
import { shellWord } from './shell-word.js';

/** The command that takes over a job's export, as words of a shell; null for a two-way head, which is not imported. */
export async function nextStep(job: string, exported: string): Promise<string | null> {
  const plan = await readVerifierPlan(job);
  return imports(plan) ? `hopgate verifier import ${shellWord(exported)} --job ${shellWord(job)}` : null;
}

/** Whether the export of a plan is a verifier that can be imported. */
export function imports({ task }: Pick<VerifierPlan, 'task'>): boolean {
  return task === 'labels';
}
