import { cp, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { sha256 } from '../../src/core/hash.js';
import type { Manifest } from '../../src/core/manifest.js';
import { repositoryRoot } from './root.js';
import { temporaryFolder } from './files.js';
import { verifierJob } from './verifier-job.js';

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

let planned: Promise<string> | undefined;

/** A planned job whose trainer only prints, waits and writes an export: a real process for the launchers. */
export async function fakeJob(over: Partial<FakePlan> = {}, name = 'job'): Promise<string> {
  planned ??= verifierJob().then(({ dir }) => dir);
  const dir = join(await temporaryFolder(), name);
  await cp(await planned, dir, { recursive: true });
  await rm(join(dir, 'trainer'), { recursive: true });
  const plan: FakePlan = { steps: 4, bytes: 1000, ...over };
  const files = {
    'run.sh': RUN,
    'fake.json': JSON.stringify(plan),
    'trainer/fake_trainer.py': await readFile(join(repositoryRoot, 'test', 'python', 'fake_trainer.py')),
  };
  const file = join(dir, 'manifest.json');
  const manifest = JSON.parse(await readFile(file, 'utf8')) as Manifest;
  manifest.outputs = manifest.outputs.filter((one) => !one.name.startsWith('trainer/') && !(one.name in files));
  for (const [path, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, path)), { recursive: true });
    await writeFile(join(dir, path), content);
    manifest.outputs.push({ name: path, sha256: sha256(content), bytes: Buffer.byteLength(content) });
  }
  await writeFile(file, JSON.stringify(manifest));
  return dir;
}
