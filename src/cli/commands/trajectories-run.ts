import {
  DEFAULT_LOOPS,
  type Agent,
  type FollowUps,
  chainAgent,
  chainIdentity,
  readFollowUps,
  scriptedAgent,
  scriptedIdentity,
  writeRun,
} from '../../agents/index.js';
import { InputError } from '../../core/errors.js';
import { openOutputFolder } from '../../core/output-folder.js';
import type { DatasetName, HopRecord } from '../../core/records.js';
import { type IdSource, type OpenedRecords, openRecords } from '../../../datasets/index.js';
import { DEFAULT_BM25, bm25Identity } from '../../retrieval/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { resultOf } from '../finished.js';
import { checkStrict, formatOption, inputOptions, openOptions, outFolder } from './input-options.js';
import { numberIn, rowRange, wholeNumber } from '../number-flags.js';

const AGENTS = ['scripted', 'chain'] as const;

interface Flags extends CommonFlags {
  file: string;
  agent: (typeof AGENTS)[number];
  followups?: string;
  budget: number;
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
    agent: {
      choices: AGENTS,
      demandOption: true,
      describe: 'scripted: the question, then --followups; chain: the question, then expanded',
    },
    followups: { type: 'string', describe: 'JSON lines {question_id, followups[]} for --agent scripted' },
    budget: { type: 'number', default: DEFAULT_LOOPS.budget, describe: 'loops at most' },
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
  const { seed, agent, format } = flags;
  const [budget, top] = [wholeNumber('budget', flags.budget), wholeNumber('top', flags.top)];
  const bm25 = { k1: numberIn('k1', flags.k1, [0, Infinity]), b: numberIn('b', flags.b, [0, 1]) };
  const { from, to } = rowRange(flags.rows);
  const dir = outFolder(flags.out);
  if (agent === 'scripted' && flags.followups === undefined)
    throw new InputError('--followups: expected a file of follow-ups for --agent scripted');
  if (agent !== 'scripted' && flags.followups !== undefined) throw new InputError(`--followups: of no use with --agent ${agent}`);

  const bar = terminal.progress('searching (MB read)');
  const opened = await openRecords(flags.file, openOptions({ dataset: flags.dataset, ids: flags.ids }, terminal, bar));
  const followUps = flags.followups === undefined ? undefined : await readFollowUps(flags.followups);
  const out = await openOutputFolder({
    dir,
    kind: 'trajectories',
    command: 'trajectories run',
    options: {
      agent,
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
    inputs: [...opened.inputs, ...(flags.followups === undefined ? [] : [flags.followups])],
    resume: flags.resume,
    force: flags.force,
  });
  if (out.finished) return ended(resultOf(dir, out.finished), flags, terminal);
  for (const folder of out.removed) terminal.note(`${folder}: removed with the run that it was made from`);

  terminal.note(
    `at most ${budget} loops and ${budget * top} sentences a question: a decider is called at most ${budget} times, and scores at most ${budget * top} pairs for each of its claims`,
  );
  const source = agentSource(followUps, { from, to });
  const ran = await writeRun(out, opened.records, source.agentFor, {
    budget,
    top,
    repeat: flags.repeat,
    bm25,
    format,
    signal: terminal.signal,
  })
    .then((counts) => {
      if (counts.questions === 0) throw new InputError(source.nothing(), { file: flags.file });
      return counts;
    })
    .catch(async (error: unknown) => {
      if (error instanceof InputError) await out.discard();
      throw error;
    })
    .finally(() => bar.done());

  const { entries, repaired } = inRange(opened, { from, to });
  await out.jsonl('quarantine.jsonl', entries);
  const skipped: { [reason: string]: number } = {};
  for (const { action, reason } of entries) if (action === 'skipped') skipped[reason] = (skipped[reason] ?? 0) + 1;
  const { counts, warnings } = source.summary();
  if (ran.without_pool > 0) warnings.push(`${ran.without_pool} questions come without pages to search in and are left out`);
  const manifest = await out.finish({
    counts: { ...ran, ...counts, repaired },
    quarantined: skipped,
    warnings,
    details: {
      dataset: opened.dataset,
      agent: agent === 'chain' ? chainIdentity : { ...scriptedIdentity, followup_sources: followUps?.sources ?? [] },
      retriever: bm25Identity(bm25),
      splitter: opened.splitter,
      budget,
      top,
      repeat: flags.repeat,
    },
  });
  return ended(resultOf(dir, manifest), flags, terminal);
}

interface AgentSource {
  agentFor: (record: HopRecord) => Agent | null;
  summary: () => { counts: { [name: string]: number }; warnings: string[] };
  /** Why not one question was left to run. */
  nothing: () => string;
}

function agentSource(followUps: FollowUps | undefined, { from, to }: { from: number; to: number }): AgentSource {
  const chain = chainAgent();
  const matched = new Set<string>();
  let [asked, without] = [0, 0];
  const unmatched = (): number => (followUps?.byQuestion.size ?? 0) - matched.size;
  return {
    agentFor: (record) => {
      const queries = followUps?.byQuestion.get(record.question_id);
      // Rows outside --rows count as matched: their follow-ups are no mistake.
      if (queries) matched.add(record.question_id);
      if (record.row < from || record.row >= to) return null;
      asked++;
      if (!followUps) return chain;
      // A trajectory of one loop would agree with every policy by construction.
      if (queries === undefined || queries.length === 0) {
        without++;
        return null;
      }
      return scriptedAgent(queries);
    },
    summary: () => {
      if (!followUps) return { counts: { asked }, warnings: [] };
      const warnings: string[] = [];
      if (unmatched() > 0)
        warnings.push(`${unmatched()} of ${followUps.byQuestion.size} questions of the follow-up file are not in the dataset file`);
      return { counts: { asked, without_follow_ups: without, unmatched_follow_ups: unmatched() }, warnings };
    },
    nothing: () =>
      asked === 0 ? 'no usable record in --rows' : `none of the ${asked} questions has follow-ups in the file of --followups`,
  };
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
