import { basename, resolve } from 'node:path';
import { sha256 } from '../src/core/hash.js';
import { writeFileAtomic } from '../src/core/output-folder.js';
import { packJob } from './job-archive.js';
import type { JobFolder } from './job-files.js';
import { shellWord } from './shell-word.js';

export interface Bundle {
  file: string;
  bytes: number;
  sha256: string;
  /** How it is unpacked and run, by the place where that is done. */
  commands: { plain: string; slurm: string; notebook: string };
}

/** Writes a job as one archive that needs nothing but Python and bash where it is unpacked. The same job gives the same bytes. */
export async function writeBundle(job: JobFolder, file: string): Promise<Bundle> {
  const packed = await packJob(job);
  await writeFileAtomic(file, packed);
  const archive = shellWord(basename(file));
  const folder = shellWord(basename(resolve(job.dir)));
  const unpack = `python3 -m zipfile -e ${archive} ${folder}`;
  return {
    file,
    bytes: packed.length,
    sha256: sha256(packed),
    commands: {
      plain: `${unpack} && bash ${folder}/run.sh`,
      slurm: `${unpack} && cd ${folder} && sbatch job.slurm`,
      notebook: `!${unpack} && bash ${folder}/run.sh --python python3`,
    },
  };
}
