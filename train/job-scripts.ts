import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { InputError, fromSystem } from '../src/core/errors.js';
import { packageFile } from '../src/core/product.js';
import type { VerifierPlan } from '../src/core/verifier-job.js';
import { imports } from './next-step.js';

/** Files of a job that do not depend on its rows: the trainer, what it needs, and how it is started. By name in the job folder. */
export async function jobScripts(plan: VerifierPlan, trainer: string = packageFile('train/trainer')): Promise<{ [name: string]: string }> {
  const files: { [name: string]: string } = {};
  const names = await readdir(trainer).catch((error: unknown) => {
    throw fromSystem(error, trainer);
  });
  for (const name of names.filter((one) => one.endsWith('.py')).toSorted())
    files[`trainer/${name}`] = await readFile(join(trainer, name), 'utf8');
  if (Object.keys(files).length === 0) throw new InputError('no Python file, expected the trainer', { file: trainer });
  files['requirements.txt'] = await readFile(join(trainer, 'requirements.txt'), 'utf8');
  files['run.sh'] = await readFile(packageFile('train/job/run.sh'), 'utf8');
  files['job.slurm'] = slurmScript(plan);
  files['README.md'] = readme(plan);
  return files;
}

/** Three times the estimate, which is for training alone, and an hour at least; four hours where there is none. */
function slurmScript({ estimate, task }: VerifierPlan): string {
  const minutes = estimate.gpu_minutes === null ? 240 : Math.max(60, Math.ceil(3 * estimate.gpu_minutes));
  const clock = [Math.floor(minutes / 60), minutes % 60, 0].map((part) => String(part).padStart(2, '0')).join(':');
  return `#!/usr/bin/env bash
# From this folder: sbatch job.slurm [--python PY] [--out DIR]
# A job that the cluster takes back writes a checkpoint and goes on from it when it is started again.
#SBATCH --job-name=hopgate-${task}
#SBATCH --nodes=1
#SBATCH --gpus=1
#SBATCH --cpus-per-task=4
#SBATCH --mem=32G
#SBATCH --time=${clock}
#SBATCH --signal=TERM@120
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=slurm-%j.log
set -euo pipefail
cd "\${SLURM_SUBMIT_DIR:-.}"
srun bash run.sh --resume "$@"
`;
}

function readme(plan: VerifierPlan): string {
  const { counts, estimate, settings, task } = plan;
  const minutes = estimate.gpu_minutes === null ? 'not estimated' : `about ${estimate.gpu_minutes} GPU minutes`;
  const memory = estimate.memory_gib === null ? '' : `, about ${estimate.memory_gib} GiB of GPU memory`;
  return `# A verifier's training job

${settings.base}, task \`${task}\`: ${counts.train} training rows, ${counts.dev} dev rows, ${counts.golden} golden rows; ${estimate.steps} steps, ${minutes}${memory}.
The rows are token ids already: nothing here renders a prompt. \`plan.json\` holds the settings, \`manifest.json\` the sha256 of every file.

    bash run.sh                        # makes .venv from requirements.txt, then trains, merges, exports and scores
    bash run.sh --python PY --out DIR  # with a Python that has those packages
    bash run.sh --resume               # goes on from the last checkpoint
    sbatch job.slurm                   # the same on a Slurm cluster; adapt its first lines

On a machine with more than one GPU all of them are used. Progress is printed as JSON lines. The export lies in \`export/\`${
    imports(plan)
      ? `; where hopgate
is installed, \`hopgate verifier import EXPORT --job JOB\` (that folder, and this one) checks it against the job and makes it a verifier`
      : ''
  }.

By hand: \`PYTHONPATH=. python -m trainer check --job .\` reads settings and rows alone and needs no PyTorch.
`;
}
