import type { Options } from 'yargs';
import { commonOptions } from './command.js';
import { commands } from './commands/index.js';

const WIDTH = 150;

/** The whole command line as the README shows it: from the same tables as `--help`, in fewer lines. */
export function usage(): string {
  const lines: string[] = [];
  for (const { path, describe, options } of commands) {
    lines.push(`hopgate ${path}`, `    ${describe}`, ...wrapped(options));
  }
  lines.push('every command', ...wrapped(commonOptions));
  return lines.join('\n');
}

function wrapped(options: { [name: string]: Options }): string[] {
  const parts = Object.entries(options)
    .filter(([, option]) => option.hidden !== true)
    .map(([name, option]) => `--${name}${value(option)}`);
  const lines: string[] = [];
  for (const part of parts) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + part.length + 2 <= WIDTH) lines[lines.length - 1] = `${last}  ${part}`;
    else lines.push(`      ${part}`);
  }
  return lines;
}

function value(option: Options): string {
  const fallback: unknown = option.default;
  const shown = typeof fallback === 'boolean' || fallback === undefined ? undefined : JSON.stringify(fallback).replaceAll('"', '');
  const choices = option.choices?.map(String).join('|');
  // Long lists stand in --help.
  if (choices !== undefined && choices.length > 40) return `=${shown ?? '…'}`;
  if (choices !== undefined) return `=${choices}${shown === undefined ? '' : ` (${shown})`}`;
  return option.type === 'boolean' ? '' : `=${shown ?? '…'}`;
}
