import { normaliseAnswer } from './answer-scores.js';
import { type Measured, measured } from './measured.js';
import type { MeasureOptions } from './measures.js';
import { type Policy, alwaysVerify, full } from './policies.js';
import type { LoopAnswers, QuestionRun } from './question-run.js';

/** How right an extractor's answers are at the stops of one system, beside those of always-verify and of the full trajectory. */
export interface AnswerMeasures {
  extractor: string;
  /** Questions with a gold answer; the others are in no figure. */
  questions: number;
  withoutAnswer: number;
  em: Measured;
  f1: Measured;
  /** Differences on the same questions: this system minus the reference. */
  emAgainstAlways: Measured;
  emAgainstFull: Measured;
  f1AgainstAlways: Measured;
  f1AgainstFull: Measured;
}

const STATISTICS = {
  em: (t: Sums, { units }: Drawn) => t.em / units,
  f1: (t: Sums, { units }: Drawn) => t.f1 / units,
  emAgainstAlways: (t: Sums, { units }: Drawn) => (t.em - t.alwaysEm) / units,
  emAgainstFull: (t: Sums, { units }: Drawn) => (t.em - t.fullEm) / units,
  f1AgainstAlways: (t: Sums, { units }: Drawn) => (t.f1 - t.alwaysF1) / units,
  f1AgainstFull: (t: Sums, { units }: Drawn) => (t.f1 - t.fullF1) / units,
} as const;

type Column = 'em' | 'f1' | 'alwaysEm' | 'alwaysF1' | 'fullEm' | 'fullF1';
type Sums = Readonly<Record<Column, number>>;
interface Drawn {
  units: number;
}

/** EM and F1 of one system by one extractor, with paired-bootstrap intervals; rows of one id are drawn together. */
export function measureAnswers(
  questions: readonly QuestionRun[],
  policy: Policy,
  { extractor, strata, ...options }: MeasureOptions & { extractor: string },
): AnswerMeasures {
  const scored: { question: QuestionRun; answers: LoopAnswers; stratum: string | undefined }[] = [];
  for (const [at, question] of questions.entries()) {
    const answers = question.answers?.get(extractor);
    if (answers?.scores) scored.push({ question, answers, stratum: strata?.[at] });
  }
  const counts = { extractor, questions: scored.length, withoutAnswer: questions.length - scored.length };
  if (scored.length === 0) {
    const none = { value: null, low: null, high: null };
    return { ...counts, em: none, f1: none, emAgainstAlways: none, emAgainstFull: none, f1AgainstAlways: none, f1AgainstFull: none };
  }
  const names: Column[] = ['em', 'f1', 'alwaysEm', 'alwaysF1', 'fullEm', 'fullF1'];
  const columns = Object.fromEntries(names.map((name) => [name, new Float64Array(scored.length)])) as { [name in Column]: Float64Array };
  for (const [i, { question, answers }] of scored.entries()) {
    const set = (em: Column, f1: Column, loop: number): void => {
      const score = answers.scores?.[loop - 1] ?? { em: 0, f1: 0 };
      columns[em][i] = score.em;
      columns[f1][i] = score.f1;
    };
    set('em', 'f1', policy(question).stop);
    set('alwaysEm', 'alwaysF1', alwaysVerify(question).stop);
    set('fullEm', 'fullF1', full(question).stop);
  }
  const ids = scored.map(({ question }) => question.id);
  const data = {
    columns,
    clusters: new Set(ids).size < ids.length ? ids : undefined,
    strata: strata && scored.map(({ stratum }) => stratum as string),
    statistics: STATISTICS,
  };
  return { ...counts, ...measured(data, options) };
}

/** Share of questions on which two extractions of one extractor have to agree, so that what they say may be compared (method.md §9). */
export const PARITY = 0.98;

export interface Parity {
  dataset: string;
  first: string;
  second: string;
  questions: number;
  /** Questions with the same answers, in the form in which answers are compared, wherever one of the systems stops. */
  same: number;
}

/** Two extractions of the same questions at the stops of some systems. */
export function parityOf(
  questions: readonly QuestionRun[],
  policies: readonly Policy[],
  names: { dataset: string; first: string; second: string },
): Parity {
  let same = 0;
  for (const question of questions) {
    const [a, b] = [question.answers?.get(names.first), question.answers?.get(names.second)];
    const stops = new Set([alwaysVerify, full, ...policies].map((policy) => policy(question).stop));
    const agrees = [...stops].every((stop) => normaliseAnswer(a?.texts[stop - 1] ?? '') === normaliseAnswer(b?.texts[stop - 1] ?? ''));
    if (agrees) same++;
  }
  return { ...names, questions: questions.length, same };
}

/** The agent's own answers against the gold ones, over the questions that have a gold answer; null where there are none. */
export function nativeScores(questions: readonly QuestionRun[]): { questions: number; em: number; f1: number } | null {
  const scores = questions.flatMap((one) => (one.native ? [one.native] : []));
  if (scores.length === 0) return null;
  const mean = (name: 'em' | 'f1'): number => scores.reduce((sum, one) => sum + one[name], 0) / scores.length;
  return { questions: scores.length, em: mean('em'), f1: mean('f1') };
}
