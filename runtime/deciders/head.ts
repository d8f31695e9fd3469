import { InputError } from '../../src/core/errors.js';
import type { Json } from '../../src/core/manifest.js';
import type { RetrievedSentence } from '../../src/core/trajectories.js';
import type { HeadFields } from '../../src/prompts/index.js';
import type { HeadModel } from '../models/head-model.js';
import { type Decider, type VerdictScore, loopVerdict } from './decider.js';
import type { LiveDecider, LiveLoop } from './live.js';
import { thresholdOf } from './threshold.js';
import { DEFAULT_THRESHOLD } from './verdict.js';

/**
 * V-StopRAG or V-SIMRAG (method.md §8): after every loop a trained two-way head reads the question, the evidence so far as `title: sentence`,
 * and the loop's number, or its sub-question and intermediate answer. Covered at P(stop) ≥ the threshold, 0.5 by default.
 */
export function headDecider(head: HeadModel, options: { threshold?: number | undefined } = {}): Decider {
  const threshold = thresholdOf(options);
  return {
    name: head.task,
    identity: identityOf(head, threshold),
    readsClaims: false,
    scan: { threshold: { ...DEFAULT_THRESHOLD, pAtLeast: threshold }, allPairs: false },
    decide: async ({ trajectory, record, signal }) => {
      if (!record)
        throw new InputError('the head reads the question, and this run has no records', {
          row: trajectory.row,
          questionId: trajectory.question_id,
        });
      const counts = { tokens: 0, cut_prompts: 0 };
      const evidence: string[] = [];
      const verdicts: VerdictScore[] = [];
      for (const { loop, query, sub_answer, sentences } of trajectory.loops) {
        signal?.throwIfAborted();
        evidence.push(...evidenceOf(sentences));
        const fields: HeadFields = { question: record.question, evidence, loop, sub_question: query, answer: sub_answer ?? '' };
        const { p, cut, tokens } = await head.score(fields);
        counts.tokens += tokens;
        if (cut > 0) counts.cut_prompts++;
        verdicts.push(loopVerdict(loop, p));
      }
      return { claims: null, verdicts, counts };
    },
  };
}

/** The head in a running agent. */
export function liveHeadDecider(head: HeadModel, options: { threshold?: number | undefined } = {}): LiveDecider {
  const threshold = thresholdOf(options);
  return {
    name: head.task,
    identity: identityOf(head, threshold),
    readsClaims: false,
    open: ({ question }) => ({
      call: async (loops, { signal } = {}) => {
        signal?.throwIfAborted();
        const { loop, query, subAnswer } = loops.at(-1) as LiveLoop;
        const evidence = loops.flatMap(({ sentences }) => evidenceOf(sentences));
        const { p, tokens } = await head.score({ question, evidence, loop, sub_question: query, answer: subAnswer ?? '' });
        return { covered: p >= threshold, p, matched: null, pairs: null, tokens };
      },
    }),
  };
}

function identityOf(head: HeadModel, threshold: number): Json {
  return { decider: head.task, model: head.identity, evidence: 'title: sentence', threshold };
}

function evidenceOf(sentences: readonly RetrievedSentence[]): string[] {
  return sentences.map(({ title, text }) => `${title.trim()}: ${text.trim()}`);
}
