import yargs, { type Argv, type Options } from 'yargs';
import { InputError, shown } from '../core/errors.js';
import { product } from '../core/product.js';
import { type Command, type CommandResult, type CommonFlags, commonOptions } from './command.js';
import { commandsFor } from './commands/index.js';
import { numberFlag, seedFlag } from './number-flags.js';
import { makeTerminal } from './terminal.js';

/** Parses the arguments, runs one command and returns its exit code. Bad usage throws InputError. */
export async function main(argv: readonly string[]): Promise<number> {
  const abort = new AbortController();
  const onInterrupt = (): void => {
    // The second Ctrl-C ends at once; every write is atomic, so that is as safe as a kill.
    if (abort.signal.aborted) process.exit(130);
    process.stderr.write('\nhopgate: stopping at the next resumable point (Ctrl-C again ends at once)\n');
    abort.abort(new DOMException('interrupted', 'AbortError'));
  };
  process.on('SIGINT', onInterrupt);
  let code = 0;
  try {
    await parser(await commandsFor(argv), async (command, args) => {
      const terminal = makeTerminal({ json: args.json, quiet: args.quiet, signal: abort.signal });
      let result: CommandResult;
      try {
        result = await command.run(args, terminal);
      } catch (error) {
        if (!abort.signal.aborted) throw error;
        process.stderr.write('hopgate: interrupted; the same command with --resume goes on\n');
        code = 130;
        return;
      }
      result = { ...result, warnings: [...ignoredFlags(command, argv), ...result.warnings] };
      for (const warning of result.warnings) terminal.warn(warning);
      if (args.json) process.stdout.write(`${JSON.stringify(result)}\n`);
    }).parseAsync(argv);
  } finally {
    process.off('SIGINT', onInterrupt);
  }
  return code;
}

type Handle = (command: Command, args: { [name: string]: unknown } & CommonFlags) => Promise<void>;

/** The command line's grammar; the documentation generator reads the usage from it too. */
export function parser(commands: readonly Command[], handle: Handle): Argv {
  const groups = new Map<string, Command[]>();
  for (const command of commands) {
    const group = command.path.split(' ').filter((word) => !/[<[]/.test(word)).length > 1 ? (command.path.split(' ')[0] as string) : '';
    groups.set(group, [...(groups.get(group) ?? []), command]);
  }
  let top = base(yargs([])).scriptName('hopgate').version(product().version).usage('$0 <command>');
  for (const [group, members] of groups) {
    if (group === '') {
      for (const command of members) top = add(top, command.path, command, handle);
    } else {
      top = top.command(group, members.map((one) => one.describe).join(' · '), (inner) => {
        let own = base(inner);
        for (const command of members) own = add(own, command.path.slice(group.length + 1), command, handle);
        return own.demandCommand(1, `${group}: expected one of ${members.map((one) => one.path.split(' ')[1]).join(', ')}`);
      });
    }
  }
  return top.demandCommand(1, `expected a command, one of ${commands.map((one) => one.path.replace(/ [<[].*/, '')).join(', ')}`);
}

function base(of: Argv): Argv {
  return of
    .strict()
    .strictCommands()
    .recommendCommands()
    .parserConfiguration({ 'duplicate-arguments-array': true, 'camel-case-expansion': false })
    .exitProcess(false)
    .fail((message, error) => {
      if (error) throw error;
      throw new InputError(`${message} (--help lists what there is)`);
    });
}

function add(to: Argv, path: string, command: Command, handle: Handle): Argv {
  const options: { [name: string]: Options } = { ...command.options, ...commonOptions };
  return to.command(
    path,
    command.describe,
    (inner) => {
      let own = base(inner).options(asText(options)) as Argv;
      for (const [name, describe] of Object.entries(command.positionals ?? {})) own = own.positional(name, { describe, type: 'string' });
      return command.epilogue === undefined ? own : own.epilogue(command.epilogue);
    },
    async (args) => {
      const repeated = Object.entries(args).find(
        ([name, value]) =>
          Array.isArray(value) && command.options[name]?.array !== true && !(name in (command.positionals ?? {})) && name !== '_',
      );
      if (repeated) throw new InputError(`--${repeated[0]}: given ${(repeated[1] as unknown[]).length} times, expected once`);
      if (args.out === '') throw new InputError(`--out: got ${shown(args.out)}, expected a folder`);
      await handle(command, { ...args, ...numbersOf(options, args) } as unknown as { [name: string]: unknown } & CommonFlags);
    },
  );
}

/** Numbers come as text and are read by `numbersOf`: yargs would make 0 of an empty text and NaN of any other, before it could be shown. */
function asText(options: { [name: string]: Options }): { [name: string]: Options } {
  return Object.fromEntries(
    Object.entries(options).map(([name, option]) => [name, option.type === 'number' ? { ...option, type: 'string' } : option]),
  );
}

function numbersOf(options: { [name: string]: Options }, args: { [name: string]: unknown }): { [name: string]: number } {
  const numbers: { [name: string]: number } = {};
  for (const [name, { type }] of Object.entries(options)) {
    const given = args[name];
    if (type === 'number' && typeof given === 'string') numbers[name] = name === 'seed' ? seedFlag(given) : numberFlag(name, given);
  }
  return numbers;
}

function ignoredFlags({ ignores = {} }: Command, argv: readonly string[]): string[] {
  return Object.entries(ignores)
    .filter(([name]) => argv.some((word) => word === `--${name}` || word.startsWith(`--${name}=`)))
    .map(([name, why]) => `--${name} is of no effect: ${why}`);
}
