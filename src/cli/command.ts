import type { Options as YargsOptions } from 'yargs';

/** What a command may use of the terminal. Results go to stdout, everything else to stderr. */
export interface Terminal {
  json: boolean;
  quiet: boolean;
  /** Lines of a human-readable result; dropped under `--json`. */
  print(text: string): void;
  warn(text: string): void;
  /** A line about the work itself, on stderr; dropped under `--quiet`. */
  note(text: string): void;
  /**
   * A progress bar on work of known or unknown length; shown only on a terminal, after two seconds. With `lines`, where stderr is no
   * terminal, a line at each tenth of the work and after 30 seconds. Call `done` when it is over.
   */
  progress(label: string, options?: { lines?: boolean }): Progress;
  /** Aborted by Ctrl-C; long work stops at the next resumable point. */
  signal: AbortSignal;
}

/** `ignores` of a command that only reads and prints. */
export const READS_ONLY = {
  seed: 'this command draws nothing',
  out: 'this command writes no folder',
  resume: 'this command has nothing to go on with',
  force: 'this command replaces nothing',
} as const;

export interface Progress {
  /** `total` null where it is not known. */
  update(done: number, total: number | null): void;
  done(): void;
}

export interface CommonFlags {
  seed: number;
  out: string | undefined;
  resume: boolean;
  force: boolean;
  quiet: boolean;
  json: boolean;
}

/** Every command's JSON object has at least these (architecture.md §5). */
export interface CommandResult {
  out: string | null;
  counts: { [name: string]: unknown };
  quarantined: { [reason: string]: number };
  warnings: string[];
  [more: string]: unknown;
}

/**
 * A command: flags to one call of library functions. `path` is its words and positional arguments in yargs' form, `labels build <file>`.
 * `run` returns the object that `--json` prints; what a person reads is printed through the terminal.
 */
export interface Command {
  path: string;
  describe: string;
  /** Longer text for the README's usage. */
  epilogue?: string;
  options: { [name: string]: YargsOptions };
  /** Positional arguments' descriptions, by name. */
  positionals?: { [name: string]: string };
  /** Common flags that change nothing here, each with why; one that is given all the same is warned of. */
  ignores?: { readonly [name in 'seed' | 'out' | 'resume' | 'force']?: string };
  run(args: { [name: string]: unknown } & CommonFlags, terminal: Terminal): Promise<CommandResult>;
}

export const commonOptions = {
  seed: { type: 'number', default: 13, describe: 'seed of every random draw' },
  out: { type: 'string', describe: 'output folder' },
  resume: { type: 'boolean', default: false, describe: 'go on with an interrupted run of the same settings' },
  force: { type: 'boolean', default: false, describe: 'replace what an earlier run left in --out' },
  quiet: { type: 'boolean', default: false, describe: 'no progress, no notes' },
  json: { type: 'boolean', default: false, describe: 'one JSON object on stdout' },
} as const satisfies { [name: string]: YargsOptions };
