import { type AnswerMeasures, measureAnswers, nativeScores } from './answer-measures.js';
import { breakEvenWords } from './break-even.js';
import { type MeasureOptions, type Measures, measure } from './measures.js';
import { type Outcome, type Policy, alwaysVerify, isCovered } from './policies.js';
import type { DatasetRun, LoopAnswers, QuestionRun } from './question-run.js';
import { type ReadySystem, type SystemSettings, type SystemSpec, readySystem } from './systems.js';
import { type Cells, figure, signed, signedInterval, textTable, withInterval } from './text-table.js';

export interface ReplayedSystem extends Omit<ReadySystem, 'policy' | 'fires'> {
  measures: Measures;
  /** One for each extractor; left out where none was asked for. */
  answers?: AnswerMeasures[] | undefined;
}

export interface ReplayedDataset {
  /** `pooled` for all datasets together, resampled within each. */
  dataset: string;
  systems: ReplayedSystem[];
  /** The gate's τ was chosen on questions of these (`chosenOn`): its figures are no held-out ones. Left out where they are. */
  inSample?: true | undefined;
  inSampleNote?: string | undefined;
  /** The agent's own answers, where answers were asked for and the run has some. */
  native?: ReturnType<typeof nativeScores> | undefined;
}

export interface Replay {
  datasets: ReplayedDataset[];
  /** Only where there are several datasets. */
  pooled: ReplayedDataset | null;
  /** The gate's cost of deferral in words, one line a dataset. */
  breakEven: string[];
  /** What the language models took, in words, one line a stage; left out where answers are not in question and nothing was asked. */
  costs?: string[] | undefined;
}

/** Replays every system on the same loops (evaluation.md). Cost: systems × (questions + resamples × questions). */
export function replay(
  runs: readonly DatasetRun[],
  specs: readonly SystemSpec[],
  settings: SystemSettings,
  options: MeasureOptions = {},
): Replay {
  const ready = runs.map((run) => specs.map((spec) => readySystem(spec, run.questions, settings)));
  const datasets = runs.map((run, at) => ({
    dataset: run.dataset,
    systems: (ready[at] as ReadySystem[]).map((system) => replayed(system, run.questions, { ...options, rows: run.rows })),
    ...withNative(run.questions),
  }));
  const gates = datasets.flatMap(({ dataset, systems }) =>
    systems.filter((one) => one.label === 'gate').map(({ measures }) => ({ dataset, measures })),
  );
  return {
    datasets,
    pooled: runs.length < 2 ? null : { dataset: 'pooled', systems: specs.map((_, at) => pooledSystem(runs, ready, at, options)) },
    breakEven: gates.map(({ dataset, measures }) =>
      breakEvenWords(dataset, {
        always: measures.alwaysCalls / measures.questions.valid,
        gated: measures.calls / measures.questions.valid,
        addedLoops: measures.addedLoops.value ?? 0,
      }),
    ),
  };
}

/** What one system did on one question. */
export interface ReplayRow {
  dataset: string;
  question_id: string;
  row: number;
  system: string;
  stop: number;
  stopped_by: Outcome['stoppedBy'];
  calls: number;
  always_stop: number;
  agrees: boolean;
  loops: number;
  gold_loop: number | null;
  covered: boolean | null;
  /** What each extractor answers at the stop; scores are null without a gold answer. Left out where none was asked for. */
  answers?: { [extractor: string]: { answer: string; em: number | null; f1: number | null } };
}

/** One row a question and system. `gold_loop` is null where gold labels are missing or the gold loop is never reached; `covered` tells which. */
export function* replayRows(runs: readonly DatasetRun[], specs: readonly SystemSpec[], settings: SystemSettings): Generator<ReplayRow> {
  for (const run of runs) {
    const systems = specs.map((spec) => readySystem(spec, run.questions, settings));
    for (const question of run.questions) {
      const always = alwaysVerify(question);
      for (const { label, policy } of systems) {
        const outcome = policy(question);
        yield {
          dataset: run.dataset,
          question_id: question.id,
          row: question.row,
          system: label,
          stop: outcome.stop,
          stopped_by: outcome.stoppedBy,
          calls: outcome.calls,
          always_stop: always.stop,
          agrees: outcome.stop === always.stop,
          loops: question.margins.length,
          gold_loop: question.goldLoop === null || question.goldLoop === Infinity ? null : question.goldLoop,
          covered: isCovered(question, outcome),
          ...(question.answers && { answers: answersAt(question.answers, outcome.stop) }),
        };
      }
    }
  }
}

function answersAt(answers: ReadonlyMap<string, LoopAnswers>, stop: number): NonNullable<ReplayRow['answers']> {
  return Object.fromEntries(
    [...answers].map(([extractor, { texts, scores }]) => {
      const { em, f1 } = scores?.[stop - 1] ?? { em: null, f1: null };
      return [extractor, { answer: texts[stop - 1] as string, em, f1 }];
    }),
  );
}

/** The table that a person reads, one block a dataset. */
export function replayTable(replayed: Replay): string {
  const blocks = replayCells(replayed).map(({ title, cells }) => `${title}\n${textTable(cells.header, cells.rows)}`);
  return [...blocks, replayNotes(replayed).join('\n')].filter((one) => one !== '').join('\n\n');
}

/** The same tables as cells, for a page: of each dataset the policies', then one for each extractor. */
export function replayCells({ datasets, pooled }: Pick<Replay, 'datasets' | 'pooled'>): { title: string; cells: Cells }[] {
  return [...datasets, ...(pooled ? [pooled] : [])].flatMap((one) => {
    const { dataset, systems, inSampleNote } = one;
    const counts = (systems[0] as ReplayedSystem).measures.questions;
    const policies = {
      title: `${dataset}: ${counts.rows} rows, ${counts.unique} unique ids, ${counts.valid} valid questions${inSampleNote === undefined ? '' : `; ${inSampleNote}`}`,
      cells: { header: [...HEADER], rows: systems.map(tableRow) },
    };
    return [policies, ...answerCells(one)];
  });
}

const ANSWER_HEADER = ['system', 'EM', 'ΔEM always-verify', 'ΔEM full', 'F1', 'ΔF1 always-verify', 'ΔF1 full'];

function answerCells({ dataset, systems, native }: ReplayedDataset): { title: string; cells: Cells }[] {
  const own = native ? `; the agent's own answers: EM ${figure(native.em)}, F1 ${figure(native.f1)}` : '';
  return (systems[0]?.answers ?? []).map(({ extractor, questions, withoutAnswer }, at) => ({
    title: `${dataset}: answers by ${extractor} on ${questions} questions${withoutAnswer > 0 ? `, ${withoutAnswer} without a gold answer left out` : ''}${own}`,
    cells: {
      header: ANSWER_HEADER,
      rows: systems.map(({ label, answers }) => {
        const m = answers?.[at] as AnswerMeasures;
        return [
          label,
          withInterval(m.em),
          signedInterval(m.emAgainstAlways),
          signedInterval(m.emAgainstFull),
          withInterval(m.f1),
          signedInterval(m.f1AgainstAlways),
          signedInterval(m.f1AgainstFull),
        ];
      }),
    },
  }));
}

/** What stands below the tables: what differs in a system, and what the gate's deferral costs. */
export function replayNotes({ datasets, breakEven, costs = [] }: Pick<Replay, 'datasets' | 'breakEven' | 'costs'>): string[] {
  const notes = datasets.flatMap(({ systems }) => systems.flatMap((one) => (one.note === null ? [] : [`${one.label}: ${one.note}`])));
  return [...new Set(notes), ...breakEven, ...costs];
}

const HEADER = [
  'system', 'τ', 'loops', 'added', 'calls', 'always', 'call cut', 'agreement', 'coverage safety', 'Δcoverage',
  'pairs', 'claim verdicts', 'fire rate (loop)', 'fire rate (question)', 'fire rate (call)', 'stopped by decider', 'over-search', 'unverified stops',
]; // prettier-ignore

function tableRow({ label, tau, lower, callsDecider, measures: m }: ReplayedSystem): string[] {
  return [
    label,
    tau === null ? '–' : lower === null ? figure(tau) : `${figure(lower)} / ${figure(tau)}`,
    figure(m.loops / m.questions.valid, 2),
    signed(m.addedLoops.value, 2),
    String(m.calls),
    String(m.alwaysCalls),
    callsDecider ? withInterval(m.callCut) : '–',
    withInterval(m.agreement),
    withInterval(m.coverageSafety),
    signedInterval(m.deltaCoverage),
    m.pairs === null ? '–' : String(m.pairs),
    callsDecider && m.claimVerdicts !== null ? String(m.claimVerdicts) : '–',
    ...[m.fireRatePerLoop, m.fireRatePerQuestion, m.fireRatePerCall, m.stoppedByDecider].map((rate) => (callsDecider ? figure(rate) : '–')),
    figure(m.overSearch.value),
    String(m.unverifiedStops),
  ];
}

function replayed(
  { policy, fires, ...system }: ReadySystem,
  questions: readonly QuestionRun[],
  options: MeasureOptions,
  policyOf: Policy = policy,
): ReplayedSystem {
  const extractors = [...(questions[0]?.answers?.keys() ?? [])];
  return {
    ...system,
    measures: measure(questions, policyOf, { ...options, fires }),
    ...(extractors.length > 0 && {
      answers: extractors.map((extractor) => measureAnswers(questions, policyOf, { ...options, extractor })),
    }),
  };
}

function withNative(questions: readonly QuestionRun[]): Pick<ReplayedDataset, 'native'> {
  const native = nativeScores(questions);
  return native === null ? {} : { native };
}

function pooledSystem(
  runs: readonly DatasetRun[],
  ready: readonly (readonly ReadySystem[])[],
  at: number,
  options: MeasureOptions,
): ReplayedSystem {
  // Ids of two datasets may coincide, and thresholds found on a dataset belong to it.
  const questions: QuestionRun[] = [];
  const policies = new Map<QuestionRun, Policy>();
  const strata: string[] = [];
  for (const [r, run] of runs.entries()) {
    const { policy } = (ready[r] as ReadySystem[])[at] as ReadySystem;
    for (const question of run.questions) {
      const own = { ...question, id: `${run.dataset}/${question.id}` };
      questions.push(own);
      policies.set(own, policy);
      strata.push(run.dataset);
    }
  }
  const systems = ready.map((one) => one[at] as ReadySystem);
  const first = systems[0] as ReadySystem;
  const shared = (name: 'tau' | 'lower'): number | null => (systems.every((one) => one[name] === first[name]) ? first[name] : null);
  const rows = runs.reduce((sum, run) => sum + run.rows, 0);
  const policyOf: Policy = (question) => (policies.get(question) as Policy)(question);
  return replayed({ ...first, tau: shared('tau'), lower: shared('lower') }, questions, { ...options, strata, rows }, policyOf);
}
