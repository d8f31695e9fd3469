import type { Options } from 'yargs';
import { type Command, type CommandResult, type Terminal, commonOptions } from './command.js';

/**
 * Runs one command as a step of another: its flags are the given ones over the defaults of its own table, and what it would print is
 * dropped unless it `prints`. Progress and warnings stay.
 */
export function runStep(
  command: Command,
  flags: { [name: string]: unknown },
  terminal: Terminal,
  { prints = false }: { prints?: boolean } = {},
): Promise<CommandResult> {
  const defaults = Object.entries<Options>({ ...command.options, ...commonOptions })
    .filter(([, option]) => option.default !== undefined)
    .map(([name, option]) => [name, option.default as unknown]);
  const silent: Terminal = { ...terminal, note: () => undefined, ...(!prints && { print: () => undefined }) };
  return command.run({ ...Object.fromEntries(defaults), ...flags } as Parameters<Command['run']>[0], silent);
}
