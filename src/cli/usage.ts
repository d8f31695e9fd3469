import type { Options } from 'yargs';
import { commonOptions } from './command.js';
import { commands } from './commands/index.js';

const WIDTH = 130;

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
  const shape = option.choices ? option.choices.map(String).join('|') : option.type === 'boolean' ? '' : (option.type?.toUpperCase() ?? '');
  const text = shape === '' ? '' : ` ${shape}`;
  const fallback = option.default as unknown;
  return fallback === undefined || fallback === false ? text : `${text} (${JSON.stringify(fallback).replaceAll('"', '')})`;
}
