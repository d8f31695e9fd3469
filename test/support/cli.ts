import { spawn } from 'node:child_process';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The compiled command. */
export const commandFile: string = join(dirname(dirname(dirname(fileURLToPath(import.meta.url)))), 'src', 'cli', 'main.js');

export interface Ran {
  code: number | null;
  stdout: string;
  stderr: string;
}

/** Runs the command as a user does, in a process of its own. */
export async function hopgate(args: readonly string[], options: { cwd?: string; env?: NodeJS.ProcessEnv } = {}): Promise<Ran> {
  const child = spawn(process.execPath, [commandFile, ...args], {
    cwd: options.cwd,
    env: { ...process.env, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { code, stdout, stderr };
}

/** Runs the command with `--json` and gives back its object; throws with everything it printed when it failed. */
export async function hopgateJson(
  args: readonly string[],
  options: { cwd?: string; env?: NodeJS.ProcessEnv } = {},
): Promise<{ [field: string]: unknown }> {
  const ran = await hopgate([...args, '--json'], options);
  if (ran.code !== 0) throw new Error(`hopgate ${args.join(' ')}: exit ${ran.code}\n${ran.stdout}\n${ran.stderr}`);
  return JSON.parse(ran.stdout) as { [field: string]: unknown };
}
