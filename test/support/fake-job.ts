import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openOutputFolder } from '../../src/core/output-folder.js';
import { repositoryRoot } from './root.js';
import { temporaryFolder } from './files.js';

export interface FakePlan {
  steps: number;
  /** Of the largest file of the export. */
  bytes: number;
  /** Ends with exit code 2 and this message. */
  refuse?: string;
  /** Ends with exit code 1 after this step. */
  crash_at?: number;
  /** After this step it waits until the file is there. */
  gate?: { step: number; file: string };
}

const RUN = `#!/usr/bin/env bash
set -euo pipefail
job=$(cd "$(dirname "$0")" && pwd)
python=python3
out=$job/export
more=()
while [ $# -gt 0 ]; do
  case $1 in
    --python) python=$2; shift ;;
    --out) out=$2; shift ;;
    --resume) more+=(--resume) ;;
    *) echo "run.sh: $1?" >&2; exit 2 ;;
  esac
  shift
done
cd "$job"
exec "$python" -u trainer/fake_trainer.py --job "$job" --out "$out" "\${more[@]+"\${more[@]}"}"
`;

/** A job folder whose trainer only prints, waits and writes an export: a real process for the launchers. */
export async function fakeJob(over: Partial<FakePlan> = {}, name = 'job'): Promise<string> {
  const dir = join(await temporaryFolder(), name);
  const plan: FakePlan = { steps: 4, bytes: 1000, ...over };
  const folder = await openOutputFolder({ dir, kind: 'verifier-job', command: 'verifier plan', options: {}, seed: 13, inputs: [] });
  await folder.file('plan.json', JSON.stringify(plan));
  await folder.file('run.sh', RUN);
  await folder.file('job.slurm', '#!/usr/bin/env bash\nbash run.sh\n');
  await folder.file('trainer/fake_trainer.py', await readFile(join(repositoryRoot, 'test', 'python', 'fake_trainer.py')));
  await folder.finish({ counts: {} });
  return dir;
}
