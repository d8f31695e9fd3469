import type { Options } from 'yargs';
import { commonOptions } from './command.js';
import { allCommands } from './commands/index.js';

/** The command line as the README shows it, a line a command; its flags, with meaning and default, stand in `hopgate COMMAND --help`. */
export async function usage(): Promise<string> {
  const commands = await allCommands();
  const widest = Math.max(...commands.map(({ path }) => path.length));
  const lines = commands.map(({ path, describe }) => `hopgate ${path.padEnd(widest)}  ${describe}`);
  const common = Object.entries<Options>(commonOptions)
    .filter(([, option]) => option.hidden !== true)
    .map(([name, { type, default: value }]) => `--${name}${type === 'boolean' ? '' : `=${JSON.stringify(value) ?? '…'}`}`);
  return [...lines, `every command${' '.repeat(Math.max(0, widest - 5))}  --help  ${common.join('  ')}`].join('\n');
}
