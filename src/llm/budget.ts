import { existsSync } from 'node:fs';
import { mkdir, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { z } from 'zod';
import { CheckFailedError, InputError } from '../core/errors.js';
import { type Journal, openJournal } from '../core/journal.js';
import type { ChatReply, ChatRequest, LanguageModelError } from './language-model.js';
import { type Price, costOf } from './prices.js';

/** What was paid for: calls that the model answered or failed; replies from the cache are none. */
export interface Paid {
  calls: number;
  /** Of these, calls that failed for good. */
  failed: number;
  /** Of the failed, those that the server worked on without saying what they took: counted by the most that they may have taken. */
  estimated: number;
  /** Of these, calls under way when a process was killed whose reply never came; what they took is not known. */
  lost: number;
  prompt_tokens: number;
  completion_tokens: number;
  /** Null without a price table. */
  cost: number | null;
  currency: string | null;
}

/** Upper limits of a run, all its processes together. What is left out is not limited. */
export interface BudgetLimits {
  calls?: number | undefined;
  /** Prompt and completion tokens. */
  tokens?: number | undefined;
  /** In the price table's currency. */
  cost?: number | undefined;
}

export interface BudgetOptions {
  limits?: BudgetLimits | undefined;
  /** Needed for a limit on the cost. */
  price?: Price | undefined;
  /**
   * File that the total is kept in, so that a killed run goes on counting; made at the first call. One run owns it: two runs at once have two.
   * Default: in memory.
   */
  ledger?: string | undefined;
  /** Told that a damaged ledger was set aside, which is done only without a limit. */
  onDamaged?: ((message: string) => void) | undefined;
}

/** A running total of what is paid, and the gate before every call. */
export interface Budget {
  /**
   * Waits until the call fits beside those under way, and writes it down. @throws BudgetError when it does not fit and none is under way;
   * the signal's reason
   */
  begin(key: string, request: ChatRequest, signal?: AbortSignal): Promise<Ticket>;
  /** A reply that the cache holds although the ledger lost sight of its call: it was paid for. */
  found(key: string, usage: ChatReply['usage']): Promise<void>;
  /** The run's total. */
  paid(): Promise<Paid>;
  /** What of it this process paid. */
  own(): Paid;
}

/** A call under way; ended once. */
export interface Ticket {
  end(usage: ChatReply['usage']): Promise<void>;
  /** It failed, and took this all the same (`LanguageModelError.took`). */
  fail(took: LanguageModelError['took']): Promise<void>;
}

/** Nothing more may be spent. Exit code 1, and everything finished is kept. */
export class BudgetError extends CheckFailedError {
  constructor(message: string) {
    super(message);
    this.name = 'BudgetError';
  }
}

const usageSchema = z.strictObject({ promptTokens: z.int().nonnegative(), completionTokens: z.int().nonnegative() });
const entrySchema = z.discriminatedUnion('event', [
  z.strictObject({ event: z.literal('sent'), id: z.int().nonnegative(), key: z.string() }),
  z.strictObject({ event: z.literal('answered'), id: z.int().nonnegative(), usage: usageSchema }),
  z.strictObject({
    event: z.literal('failed'),
    id: z.int().nonnegative(),
    usage: usageSchema.optional(),
    /** `usage` is the most that it may have taken. */
    estimated: z.literal(true).optional(),
  }),
]);
type Entry = z.infer<typeof entrySchema>;
type Ended = Exclude<Entry, { event: 'sent' }>;

interface Sums {
  calls: number;
  failed: number;
  estimated: number;
  lost: number;
  prompt_tokens: number;
  completion_tokens: number;
}

/**
 * Opens a budget. A call is begun when what was paid, the most that the calls under way may take and the most that it may take itself stay within
 * every limit; near a limit one call at a time is left, until the limit is reached. So the number of calls never passes its limit, and tokens and
 * cost pass theirs by less than one call, whatever the concurrency.
 */
export function openBudget({ limits = {}, price, ledger, onDamaged }: BudgetOptions = {}): Budget {
  const [total, own] = [emptySums(), emptySums()];
  /** Calls of an earlier process of which nothing more is known: id to key. */
  const lost = new Map<number, string>();
  const underWay = new Map<number, Sums>();
  let nextId = 0;
  let journal: Promise<Journal<Entry>> | undefined;
  let waiting: (() => void)[] = [];

  const open = async (): Promise<Journal<Entry>> => {
    const log =
      ledger === undefined
        ? IN_MEMORY
        : await openLedger(
            ledger,
            LIMITS.find((name) => limits[name] !== undefined),
            onDamaged,
          );
    nextId = takeOver(log.done, total, lost);
    return log;
  };
  const opened = (): Promise<Journal<Entry>> => (journal ??= open());
  const spent = (name: keyof BudgetLimits, sums: Sums): number =>
    name === 'calls' ? sums.calls : name === 'tokens' ? sums.prompt_tokens + sums.completion_tokens : costOf(price as Price, sums);
  const over = (sums: Sums, passed: (amount: number, limit: number) => boolean): keyof BudgetLimits | undefined =>
    LIMITS.find((name) => limits[name] !== undefined && passed(spent(name, sums), limits[name]));
  const end = async (entry: Ended): Promise<void> => {
    underWay.delete(entry.id);
    for (const sums of [total, own]) {
      sums.calls++;
      addEnd(sums, entry);
    }
    const woken = waiting;
    waiting = [];
    for (const wake of woken) wake();
    await (await opened()).append(entry);
  };
  const shownSums = (sums: Sums): Paid => ({
    ...sums,
    cost: price === undefined ? null : costOf(price, sums),
    currency: price?.currency ?? null,
  });

  return {
    begin: async (key, request, signal) => {
      const log = await opened();
      const most = mostOf(request);
      for (;;) {
        signal?.throwIfAborted();
        const reached = over(total, (amount, limit) => amount >= limit);
        const fits = over([...underWay.values(), most].reduce(plus, total), (amount, limit) => amount > limit) === undefined;
        if (reached === undefined && (fits || underWay.size === 0)) break;
        if (reached !== undefined && underWay.size === 0)
          throw new BudgetError(reachedWords(reached, limits[reached] as number, shownSums(total)));
        // Those under way end in any case, by their time-outs if by nothing else.
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
      const id = nextId++;
      underWay.set(id, most);
      await log.append({ event: 'sent', id, key });
      return {
        end: (usage) => end({ event: 'answered', id, usage }),
        fail: (took) =>
          end({ event: 'failed', id, ...(took === 'unknown' ? { usage: tokensOf(most), estimated: true } : took && { usage: took }) }),
      };
    },
    found: async (key, usage) => {
      if (ledger === undefined) return;
      const log = await opened();
      const id = [...lost].find(([, one]) => one === key)?.[0];
      if (id === undefined) return;
      lost.delete(id);
      total.lost--;
      addTokens(total, usage);
      await log.append({ event: 'answered', id, usage });
    },
    paid: async () => {
      // What is only asked for leaves no file behind.
      if (journal !== undefined || (ledger !== undefined && existsSync(ledger))) await opened();
      return shownSums(total);
    },
    own: () => shownSums(own),
  };
}

const LIMITS = ['calls', 'tokens', 'cost'] as const satisfies readonly (keyof BudgetLimits)[];
const IN_MEMORY: Journal<Entry> = { done: [], append: async () => undefined };

/**
 * A damaged ledger is of no use to a limit, now and later, for what was paid is not known; without one it is set aside, so that the run's finished
 * work is not lost with it.
 *
 * @throws InputError
 */
async function openLedger(
  path: string,
  limit: keyof BudgetLimits | undefined,
  onDamaged?: (message: string) => void,
): Promise<Journal<Entry>> {
  await mkdir(dirname(path), { recursive: true });
  const aside = `${path}.damaged`;
  const refusal = (file: string): InputError =>
    new InputError(
      `the ledger is damaged, so that what was paid is not known, which --budget-${limit} needs; the same command without any --budget flag goes on, ` +
        'and --force starts again',
      { file },
    );
  if (limit !== undefined && existsSync(aside)) throw refusal(aside);
  const open = (): Promise<Journal<Entry>> => openJournal(path, (value) => entrySchema.parse(value));
  return open().catch(async (error: unknown) => {
    if (!(error instanceof InputError)) throw error;
    if (limit !== undefined) throw refusal(path);
    await rename(path, aside);
    onDamaged?.(
      `${path}: the ledger is damaged and set aside as ${aside}: what was paid before is lost from the total, nothing that was finished is`,
    );
    return open();
  });
}

/** Adds up what earlier processes wrote; what they sent and never saw answered is lost. Returns the first id that is free. */
function takeOver(entries: readonly Entry[], total: Sums, lost: Map<number, string>): number {
  let nextId = 0;
  for (const entry of entries) {
    if (entry.event === 'sent') {
      nextId = Math.max(nextId, entry.id + 1);
      total.calls++;
      lost.set(entry.id, entry.key);
    } else {
      lost.delete(entry.id);
      addEnd(total, entry);
    }
  }
  total.lost = lost.size;
  return nextId;
}

/** Bytes that a chat template may put around a message, and before all of them. */
const TEMPLATE_BYTES = 64;

/** The most that a call may take: a token stands for a byte of text or more. */
function mostOf({ messages, maxTokens }: ChatRequest): Sums {
  const bytes = messages.reduce((sum, { content }) => sum + Buffer.byteLength(content) + TEMPLATE_BYTES, TEMPLATE_BYTES);
  return { ...emptySums(), calls: 1, prompt_tokens: bytes, completion_tokens: maxTokens };
}

function emptySums(): Sums {
  return { calls: 0, failed: 0, estimated: 0, lost: 0, prompt_tokens: 0, completion_tokens: 0 };
}

function plus(a: Sums, b: Sums): Sums {
  return {
    calls: a.calls + b.calls,
    failed: a.failed + b.failed,
    estimated: a.estimated + b.estimated,
    lost: a.lost + b.lost,
    prompt_tokens: a.prompt_tokens + b.prompt_tokens,
    completion_tokens: a.completion_tokens + b.completion_tokens,
  };
}

function tokensOf({ prompt_tokens: promptTokens, completion_tokens: completionTokens }: Sums): ChatReply['usage'] {
  return { promptTokens, completionTokens };
}

function addEnd(sums: Sums, entry: Ended): void {
  if (entry.event === 'failed') sums.failed++;
  if (entry.event === 'failed' && entry.estimated) sums.estimated++;
  if (entry.usage) addTokens(sums, entry.usage);
}

function addTokens(sums: Sums, { promptTokens, completionTokens }: ChatReply['usage']): void {
  sums.prompt_tokens += promptTokens;
  sums.completion_tokens += completionTokens;
}

function reachedWords(name: keyof BudgetLimits, limit: number, paid: Paid): string {
  return (
    `the budget of ${limit} ${name === 'cost' ? `${paid.currency}` : name} is reached: ${paidWords(paid)}; everything finished is kept, and the ` +
    `same command with a higher --budget-${name} and --resume goes on`
  );
}

/** `12 calls paid (3,456 prompt and 789 completion tokens, 0.0012 USD)`. */
export function paidWords(paid: Paid): string {
  const { calls, failed, estimated, lost, prompt_tokens: prompt, completion_tokens: completion, cost, currency } = paid;
  const parts = [
    `${counted(prompt)} prompt and ${counted(completion)} completion tokens`,
    ...(cost === null ? [] : [`${cost.toFixed(4)} ${currency}`]),
    ...(failed === 0
      ? []
      : [`${counted(failed)} failed${estimated === 0 ? '' : `, ${counted(estimated)} of them counted by an upper estimate`}`]),
    ...(lost === 0 ? [] : [`${counted(lost)} lost in a kill`]),
  ];
  return `${counted(calls)} ${calls === 1 ? 'call' : 'calls'} paid (${parts.join(', ')})`;
}

function counted(value: number): string {
  return value.toLocaleString('en-US');
}
