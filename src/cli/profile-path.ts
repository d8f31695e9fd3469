import { stat } from 'node:fs/promises';
import { join } from 'node:path';

/** A profile is named by its file or by the calibration folder that holds it. */
export async function profilePath(path: string): Promise<string> {
  const isFolder = await stat(path).then(
    (entry) => entry.isDirectory(),
    () => false,
  );
  return isFolder ? join(path, 'profile.json') : path;
}
