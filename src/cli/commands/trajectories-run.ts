import { DEFAULT_LOOPS, type RunCounts, writeRun } from '../../agents/index.js';
import { InputError } from '../../core/errors.js';
import { openOutputFolder } from '../../core/output-folder.js';
import type { DatasetName } from '../../core/records.js';
import { repeatedIdsWarning } from '../../core/repeated-ids.js';
import { type IdSource, type OpenedRecords, openRecords } from '../../../datasets/index.js';
import { type AgentFlags, agentOf, agentOptions } from '../agent-flags.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { resultOf } from '../finished.js';
import { checkStrict, formatOption, inputOptions, openOptions, outFolder } from './input-options.js';
import { rowRange, wholeNumber } from '../number-flags.js';
import { type OpenedRetriever, type RetrieverFlags, openRetriever, retrieverOptions } from '../retriever-flags.js';

interface Flags extends CommonFlags, AgentFlags, RetrieverFlags {
  file: string;
  top: number;
  rows?: string;
  dataset?: DatasetName | undefined;
  ids: IdSource;
  repeat: boolean;
  format: 'arrow' | 'jsonl';
  strict: boolean;
}

export const trajectoriesRun: Command = {
  path: 'trajectories run <file>',
  describe: "search loops of an agent, over every question's own pages or over a corpus",
  positionals: { file: 'dataset file, or a folder with records' },
  options: {
    ...agentOptions,
    top: { type: 'number', default: DEFAULT_LOOPS.top, describe: 'sentences a loop; over a corpus, passages' },
    rows: { type: 'string', describe: 'a..b: only rows a to b − 1 of the file, counted from 0' },
    ...inputOptions,
    ...retrieverOptions,
    repeat: { type: 'boolean', default: false, describe: 'a sentence already retrieved takes a place again, adding nothing' },
    ...formatOption,
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const { seed, format } = flags;
  const top = wholeNumber('top', flags.top);
  const range = rowRange(flags.rows);
  const dir = outFolder(flags.out);
  const agent = await agentOf(flags, range, { dir, terminal });
  const { budget } = agent;
  let retriever: OpenedRetriever | undefined;
  try {
    retriever = await openRetriever(flags, terminal);
    if (flags.concurrency !== undefined && !agent.model && !retriever.corpus)
      throw new InputError(`--concurrency: of no use with --agent ${flags.agent} over a question's own pages`);
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
        ...retriever.options,
        repeat: flags.repeat,
        format,
      },
      seed,
      inputs: [...opened.inputs, ...agent.inputs, ...retriever.inputs],
      resume: flags.resume,
      force: flags.force,
    });
    if (out.finished) return ended(resultOf(dir, out.finished), flags, terminal);
    for (const folder of out.removed) terminal.note(`${folder}: removed with the run that it was made from`);

    if (flags.repeat && retriever.corpus)
      terminal.warn('--repeat: changes nothing over a corpus, where a passage met again always takes a place and adds nothing');
    const most = budget * top * retriever.sentences;
    terminal.note(
      `at most ${budget} loops and ${most} sentences a question: a decider is called at most ${budget} times, and scores at most ${most} pairs for each of its claims`,
    );
    const { corpus, bm25 } = retriever;
    const searched = async (): Promise<RunCounts> => {
      await agent.prepare(terminal.signal);
      const counts = await writeRun(out, opened.records, agent.agentFor, {
        budget,
        top,
        repeat: flags.repeat,
        bm25,
        corpus,
        format,
        // Searches that wait for each other share a pass over the corpus.
        concurrency: agent.model?.concurrency ?? (corpus && (flags.concurrency ?? CORPUS_CONCURRENCY)),
        onFailed: ({ question_id, message }) => terminal.warn(`question ${JSON.stringify(question_id)}: ${message}`),
        signal: terminal.signal,
      });
      if (counts.questions === 0) throw new InputError(agent.nothing(), { file: flags.file });
      return counts;
    };
    const ran = await searched()
      .catch(async (error: unknown) => {
        if (error instanceof InputError) await out.discard();
        throw error;
      })
      .finally(() => bar.done());

    const { entries, repaired } = inRange(opened, range);
    await out.jsonl('quarantine.jsonl', entries);
    const skipped: { [reason: string]: number } = {};
    for (const { action, reason } of entries) if (action === 'skipped') skipped[reason] = (skipped[reason] ?? 0) + 1;
    const { counts, warnings } = agent.summary();
    if (ran.repeated_ids !== undefined) warnings.push(repeatedIdsWarning(ran.repeated_ids));
    if (ran.without_pool > 0) warnings.push(`${ran.without_pool} questions come without pages to search in and are left out`);
    if (ran.gold?.unresolved)
      warnings.push(
        `${ran.gold.unresolved} questions lose their gold labels: a retrieved page has a supporting title, but not the supporting sentence or paragraph`,
      );
    if (ran.without_loop !== undefined)
      warnings.push(`${ran.without_loop} questions ended before their first search: they have an answer, but no loop to decide on`);
    if (ran.without_answer !== undefined) warnings.push(`the agent gave no answer to ${ran.without_answer} of ${ran.questions} questions`);
    const manifest = await out.finish({
      counts: { ...ran, ...counts, repaired },
      quarantined: skipped,
      warnings,
      details: {
        dataset: opened.dataset,
        agent: agent.identity,
        retriever: retriever.identity,
        splitter: retriever.splitter ?? opened.splitter,
        budget,
        top,
        repeat: flags.repeat,
      },
    });
    const result = ended(resultOf(dir, manifest), flags, terminal);
    const searches = corpus ? { searches: retriever.work() } : {};
    if (!agent.model) return { ...result, ...searches };
    terminal.note(await agent.model.words());
    return { ...result, ...searches, model: agent.model.identity, work: agent.model.work() };
  } finally {
    await retriever?.close();
    await agent.model?.close();
  }
}

/** Questions of an agent without a model that search a corpus at once. */
const CORPUS_CONCURRENCY = 8;

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
