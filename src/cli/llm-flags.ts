import { join } from 'node:path';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';
import { InputError, shown } from '../core/errors.js';
import { cacheFolder } from '../core/homes.js';
import { UNFINISHED_NAME } from '../core/manifest.js';
import {
  DEFAULT_KEY_VARIABLE,
  type LanguageModel,
  type LoadPackage,
  type Paid,
  keyFromEnvironment,
  openBudget,
  openGgufModel,
  openHttpModel,
  openReplyCache,
  paidModel,
  paidWords,
  readPrice,
} from '../llm/index.js';
import { chatLayout } from '../prompts/index.js';
import type { CommonFlags, Terminal } from './command.js';
import { numberIn, wholeNumber } from './number-flags.js';

/** Flags of every command that asks a language model. */
export interface LlmFlags {
  llm?: string;
  'llm-url'?: string;
  'llm-key-env'?: string;
  'llm-revision'?: string;
  'llm-schema'?: boolean;
  'llm-context'?: number;
  'llm-threads'?: number;
  'llm-timeout'?: number;
  'llm-retries'?: number;
  concurrency?: number;
  'budget-calls'?: number;
  'budget-tokens'?: number;
  'budget-cost'?: number;
  prices?: string;
  'reply-cache'?: boolean;
  'cache-dir'?: string;
  /** No flag of the command line: a command of several stages counts what all of them pay in one file. */
  ledger?: string;
}

/** Without a default of the command line's own, so that a flag with a value is one that was given (`refuseModelFlags`). */
export const llmOptions = {
  llm: { type: 'string', describe: "language model: its name on the server of --llm-url, else a .gguf file's path" },
  'llm-url': {
    type: 'string',
    describe: 'address of an OpenAI-compatible server (vLLM, SGLang, Ollama, llama.cpp, hosted) whose replies give `usage`',
  },
  'llm-key-env': { type: 'string', describe: `server: environment variable with the key (default ${DEFAULT_KEY_VARIABLE})` },
  'llm-revision': { type: 'string', describe: 'server: part of the cache key, for another model behind the same name' },
  'llm-schema': { type: 'boolean', describe: 'server: ask with a JSON schema (the default); --no-llm-schema where it takes none' },
  'llm-context': { type: 'number', describe: '.gguf: tokens of prompt and reply at most (default 4096)' },
  'llm-threads': { type: 'number', describe: '.gguf: CPU threads (default: one a core, less one)' },
  'llm-timeout': { type: 'number', describe: 'server: seconds that one request may take, at most 300 (default 60)' },
  'llm-retries': { type: 'number', describe: 'server: how often a request is sent again after 429 or 5xx (default 4)' },
  concurrency: { type: 'number', describe: 'questions worked on, and requests under way, at once (default 1)' },
  'budget-calls': { type: 'number', describe: 'calls paid at most, over all resumes; replies from the cache are free' },
  'budget-tokens': { type: 'number', describe: 'prompt and completion tokens paid at most, over all resumes' },
  'budget-cost': { type: 'number', describe: 'money spent at most, in the currency of --prices, over all resumes' },
  prices: { type: 'string', describe: 'price table (FORMATS.md): what a million tokens of the model cost' },
  'reply-cache': { type: 'boolean', describe: 'keep every reply on the disk (the default); --no-reply-cache asks anew' },
  'cache-dir': { type: 'string', describe: 'replies, vectors and converted models; default: $HOPGATE_HOME/cache' },
} as const;

/** Flags that say nothing without a language model; the cache's folder serves encoders too. */
export const modelFlags = (Object.keys(llmOptions) as (keyof typeof llmOptions)[]).filter((name) => name !== 'cache-dir');

/**
 * Refuses a model's flags where none is asked: `where` says so, as `with --agent chain` does. Flags in `but` serve something else as well. Throws
 * InputError.
 */
export function refuseModelFlags(flags: LlmFlags, where: string, { but = [] }: { but?: readonly (keyof LlmFlags)[] } = {}): void {
  refuseFlags(
    flags,
    modelFlags.filter((name) => !but.includes(name)),
    where,
  );
}

/** A language model with its cache and its budget; `paid` and `work` are what a command reports. */
export interface OpenedModel extends LanguageModel {
  /** Questions to work on at once. */
  readonly concurrency: number;
  /** What the run in `dir` has paid in all its processes. */
  paid(): Promise<Paid>;
  /** What this process paid, and what cost it nothing: `work` of `--json`. */
  work(): Paid & { cached: number };
  /** `12 calls paid (3,456 prompt and 789 completion tokens), 30 replies from the cache`: what a person is told of the run. */
  words(): Promise<string>;
}

/**
 * Opens the model that the flags name; the caller closes it. What is paid is kept in the unfinished folder of the run (`dir`, default `--out`), so
 * that a resumed run goes on counting. Throws InputError.
 */
export async function openModel(
  flags: LlmFlags & CommonFlags,
  terminal: Terminal,
  { dir = flags.out }: { dir?: string | undefined } = {},
): Promise<OpenedModel> {
  const limits = {
    calls: flags['budget-calls'] === undefined ? undefined : wholeNumber('budget-calls', flags['budget-calls']),
    tokens: flags['budget-tokens'] === undefined ? undefined : wholeNumber('budget-tokens', flags['budget-tokens']),
    cost: flags['budget-cost'] === undefined ? undefined : numberIn('budget-cost', flags['budget-cost'], [0, Infinity]),
  };
  if (limits.cost !== undefined && flags.prices === undefined) throw new InputError('--budget-cost: expected --prices beside it');
  if (flags.llm === undefined || flags.llm === '')
    throw new InputError('--llm: expected a model: the path of a .gguf file, or with --llm-url its name on that server');
  const concurrency = flags.concurrency === undefined ? 1 : wholeNumber('concurrency', flags.concurrency);
  const price = flags.prices === undefined ? undefined : await readPrice(flags.prices, flags.llm);
  const budget = openBudget({
    limits,
    price,
    ledger: flags.ledger ?? (dir === undefined ? undefined : join(dir, UNFINISHED_NAME, LEDGER)),
    onDamaged: (message) => terminal.warn(message),
  });
  // Before the run can end and take its ledger with it. Without --resume an interrupted run's is refused or thrown away with the rest.
  if (flags.resume) await budget.paid();
  const door = await openDoor(flags, flags.llm);
  const cache = flags['reply-cache'] === false ? undefined : openReplyCache(cacheFolder(flags['cache-dir']));
  const model = paidModel(door, { cache, budget, concurrency });
  terminal.note(`language model ${flags.llm}${flags['llm-url'] === undefined ? ' in this process' : ` at ${flags['llm-url']}`}`);
  return {
    identity: model.identity,
    constrains: model.constrains,
    countTokens: model.countTokens,
    concurrency,
    chat: (request, options) => model.chat(request, options),
    paid: () => budget.paid(),
    work: () => ({ ...budget.own(), cached: model.cached() }),
    words: async () => `${paidWords(await budget.paid())}, ${model.cached()} replies from the cache`,
    close: () => model.close(),
  };
}

/** In a run's unfinished folder. */
const LEDGER = 'paid.ledger';

const SERVER_ONLY = ['llm-key-env', 'llm-revision', 'llm-timeout', 'llm-retries'] as const;
const GGUF_ONLY = ['llm-context', 'llm-threads'] as const;

async function openDoor(flags: LlmFlags, name: string): Promise<LanguageModel> {
  const url = flags['llm-url'];
  if (url === undefined) {
    if (!name.toLowerCase().endsWith('.gguf'))
      throw new InputError(`--llm: got ${shown(name)}, expected the path of a .gguf file, or --llm-url beside it`);
    refuseFlags(flags, SERVER_ONLY, 'without --llm-url');
    return openGgufModel(name, {
      layout: chatLayout,
      contextTokens: flags['llm-context'] === undefined ? undefined : wholeNumber('llm-context', flags['llm-context'], 64),
      threads: flags['llm-threads'] === undefined ? undefined : wholeNumber('llm-threads', flags['llm-threads']),
      load: packagesAt(process.env.HOPGATE_NODE_LLAMA_CPP),
    });
  }
  refuseFlags(flags, GGUF_ONLY, 'with --llm-url');
  return openHttpModel({
    url,
    model: name,
    revision: flags['llm-revision'],
    schema: flags['llm-schema'],
    apiKey: keyFromEnvironment('--llm-key-env', flags['llm-key-env']),
    // Node's fetch waits no longer than that for the beginning of a reply.
    timeoutMs: flags['llm-timeout'] === undefined ? undefined : numberIn('llm-timeout', flags['llm-timeout'], [0.001, 300]) * 1000,
    retries: flags['llm-retries'] === undefined ? undefined : wholeNumber('llm-retries', flags['llm-retries'], 0),
  });
}

function refuseFlags(flags: LlmFlags, names: readonly (keyof LlmFlags)[], where: string): void {
  const wrong = names.find((name) => flags[name] !== undefined);
  if (wrong !== undefined) throw new InputError(`--${wrong}: of no use ${where}`);
}

/** Optional packages that are installed elsewhere: `folder` is where npm put its node_modules. Undefined: beside this product. */
export function packagesAt(folder: string | undefined): LoadPackage | undefined {
  if (folder === undefined || folder === '') return undefined;
  return async (name) => import(pathToFileURL(createRequire(join(folder, 'node_modules', 'x.js')).resolve(name)).href);
}
