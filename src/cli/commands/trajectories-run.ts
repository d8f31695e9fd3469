import { DEFAULT_LOOPS, type RunCounts, writeRun } from '../../agents/index.js';
import { InputError } from '../../core/errors.js';
import { openOutputFolder } from '../../core/output-folder.js';
import type { DatasetName } from '../../core/records.js';
import { type IdSource, type OpenedRecords, openRecords } from '../../../datasets/index.js';
import { DEFAULT_BM25, bm25Identity } from '../../retrieval/index.js';
import { type AgentFlags, agentOf, agentOptions } from '../agent-flags.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { resultOf } from '../finished.js';
import { checkStrict, formatOption, inputOptions, openOptions, outFolder } from './input-options.js';
import { numberIn, rowRange, wholeNumber } from '../number-flags.js';

interface Flags extends CommonFlags, AgentFlags {
  file: string;
  top: number;
  rows?: string;
  dataset?: DatasetName | undefined;
  ids: IdSource;
  k1: number;
  b: number;
  repeat: boolean;
  format: 'arrow' | 'jsonl';
  strict: boolean;
}

export const trajectoriesRun: Command = {
  path: 'trajectories run <file>',
  describe: "search loops of an agent over every question's own pages",
  positionals: { file: 'dataset file, or a folder with records' },
  options: {
    ...agentOptions,
    top: { type: 'number', default: DEFAULT_LOOPS.top, describe: 'sentences a loop' },
    rows: { type: 'string', describe: 'a..b: only rows a to b − 1 of the file, counted from 0' },
    ...inputOptions,
    k1: { type: 'number', default: DEFAULT_BM25.k1, describe: 'BM25: how soon repeats of a word stop counting' },
    b: { type: 'number', default: DEFAULT_BM25.b, describe: 'BM25: how far long sentences are held back' },
    repeat: { type: 'boolean', default: false, describe: 'a sentence already retrieved takes a place again, adding nothing' },
    ...formatOption,
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const { seed, format } = flags;
  const top = wholeNumber('top', flags.top);
  const bm25 = { k1: numberIn('k1', flags.k1, [0, Infinity]), b: numberIn('b', flags.b, [0, 1]) };
  const range = rowRange(flags.rows);
  const dir = outFolder(flags.out);
  const agent = await agentOf(flags, range, { dir, terminal });
  const { budget } = agent;
  try {
    const bar = terminal.progress('searching (MB read)');
    const opened = await openRecords(flags.file, openOptions({ dataset: flags.dataset, ids: flags.ids }, terminal, bar));
    const out = await openOutputFolder({
      dir,
      kind: 'trajectories',
      command: 'trajectories run',
      options: {
        agent: flags.agent,
        ...agent.options,
        budget,
        top,
        rows: flags.rows ?? null,
        dataset: opened.dataset,
        ids: flags.ids,
        ...bm25,
        repeat: flags.repeat,
        format,
      },
      seed,
      inputs: [...opened.inputs, ...agent.inputs],
      resume: flags.resume,
      force: flags.force,
    });
    if (out.finished) return ended(resultOf(dir, out.finished), flags, terminal);
    for (const folder of out.removed) terminal.note(`${folder}: removed with the run that it was made from`);

    terminal.note(
      `at most ${budget} loops and ${budget * top} sentences a question: a decider is called at most ${budget} times, and scores at most ${budget * top} pairs for each of its claims`,
    );
    const searched = async (): Promise<RunCounts> => {
      await agent.prepare(terminal.signal);
      const counts = await writeRun(out, opened.records, agent.agentFor, {
        budget,
        top,
        repeat: flags.repeat,
        bm25,
        format,
        concurrency: agent.model?.concurrency,
        onFailed: ({ question_id, message }) => terminal.warn(`question ${JSON.stringify(question_id)}: ${message}`),
        signal: terminal.signal,
      });
      if (counts.questions === 0) throw new InputError(agent.nothing(), { file: flags.file });
      return counts;
    };
    const ran = await searched()
      .catch(async (error: unknown) => {
        // With --resume the folder holds questions that cost something.
        if (error instanceof InputError && !flags.resume) await out.discard();
        throw error;
      })
      .finally(() => bar.done());

    const { entries, repaired } = inRange(opened, range);
    await out.jsonl('quarantine.jsonl', entries);
    const skipped: { [reason: string]: number } = {};
    for (const { action, reason } of entries) if (action === 'skipped') skipped[reason] = (skipped[reason] ?? 0) + 1;
    const { counts, warnings } = agent.summary();
    if (ran.without_pool > 0) warnings.push(`${ran.without_pool} questions come without pages to search in and are left out`);
    if (ran.without_loop !== undefined)
      warnings.push(`${ran.without_loop} questions ended before their first search: they have an answer, but no loop to decide on`);
    const manifest = await out.finish({
      counts: { ...ran, ...counts, repaired },
      quarantined: skipped,
      warnings,
      details: {
        dataset: opened.dataset,
        agent: agent.identity,
        retriever: bm25Identity(bm25),
        splitter: opened.splitter,
        budget,
        top,
        repeat: flags.repeat,
      },
    });
    const result = ended(resultOf(dir, manifest), flags, terminal);
    if (!agent.model) return result;
    terminal.note(await agent.model.words());
    return { ...result, model: agent.model.identity, work: agent.model.work() };
  } finally {
    await agent.model?.close();
  }
}

function inRange(
  opened: OpenedRecords,
  { from, to }: { from: number; to: number },
): Pick<OpenedRecords['quarantine'], 'entries' | 'repaired'> {
  const entries = opened.quarantine.entries.filter(({ row }) => row >= from && row < to);
  const repaired: { [reason: string]: number } = {};
  for (const { action, reason } of entries) if (action === 'repaired') repaired[reason] = (repaired[reason] ?? 0) + 1;
  return { entries, repaired };
}

function ended(result: CommandResult, { strict }: Flags, terminal: Terminal): CommandResult {
  const { counts, quarantined, out } = result;
  const skipped = Object.values(quarantined).reduce((sum, n) => sum + n, 0);
  terminal.print(
    `${String(counts.questions)} questions, ${String(counts.loops)} loops, ${String(counts.sentences)} sentences; ${
      counts.without_follow_ups === undefined ? '' : `${String(counts.without_follow_ups)} questions without follow-ups left out; `
    }${skipped} records quarantined; in ${String(out)}`,
  );
  checkStrict(strict, quarantined, 0);
  return result;
}
