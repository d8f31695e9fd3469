import { z } from 'zod';
import { BadRecord, optionalText, parseField } from '../readers/fields.js';
import { contentsDocument } from './documents.js';
import { type ReadDocument, type ReadTrajectory, type TrajectoryReader, readHead } from './trajectory.js';

const document = z.object({
  contents: optionalText,
  text: optionalText,
  title: optionalText,
  score: z.number().nullish(),
});
const documents = z.array(document);
const search = z.object({ query: z.string(), docs: documents });

const output = z.looseObject({
  pred: optionalText,
  prompt: z.unknown().optional(),
  finish_reason: optionalText,
  /** Reasoning pipelines: by number of the search. */
  retrieval_results: z.union([z.record(z.string(), search), z.array(search)]).nullish(),
  /** Pipelines of one search; the others keep their last or joined list here. */
  retrieval_result: documents.nullish(),
});

/**
 * The reader of FlashRAG's `intermediate_data.json`: `{id, question, golden_answers, output}`. What `output` keeps of the searches depends on
 * the pipeline: `retrieval_results` {n: {query, docs}} (its reasoning pipelines), `retrieval_result_iter_n` (its iterative one, whose query is
 * the question and from the second on the last prediction behind it), or one `retrieval_result`, which is one loop with the question as its
 * query; some pipelines keep no more than that of several searches.
 */
export const readFlashrag: TrajectoryReader = (value) => {
  const head = readHead(value);
  const raw = (value as { output?: unknown }).output;
  const kept = parseField(output, raw, 'output');
  const loops = searches(kept, head.question ?? '');
  const prompt = typeof kept.prompt === 'string' ? kept.prompt : '';
  const answer = kept.pred === null || kept.pred === NO_ANSWER ? null : kept.pred.trim();
  return {
    ...head,
    loops,
    answer,
    transcript: prompt,
    stop: stopReason(kept.finish_reason, answer),
    recognised: true,
    repairs: [],
  };
};

/** What FlashRAG writes in the answer's place where there is none. */
const NO_ANSWER = 'No valid answer found';

function searches(kept: z.infer<typeof output>, question: string): ReadTrajectory['loops'] {
  const { retrieval_results: numbered, retrieval_result: one } = kept;
  if (numbered) {
    const inOrder = Object.entries(numbered).toSorted(([a], [b]) => Number(a) - Number(b));
    return inOrder.map(([, { query, docs }]) => ({ query: query.trim(), subAnswer: null, documents: docs.map(documentOf) }));
  }
  const rounds = Object.keys(kept).filter((key) => /^retrieval_result_iter_\d+$/.test(key));
  if (rounds.length > 0) {
    const loops: ReadTrajectory['loops'] = [];
    for (let at = 0; at < rounds.length; at++) {
      // Behind a search that is missing the others would be loops of another number.
      if (!(`retrieval_result_iter_${at}` in kept))
        throw new BadRecord('bad_field', `got ${rounds.join(', ')}, expected retrieval_result_iter_${at} among them`, 'output');
      const found = parseField(documents, kept[`retrieval_result_iter_${at}`], `output.retrieval_result_iter_${at}`);
      const last = at === 0 ? '' : parseField(z.string(), kept[`pred_iter_${at - 1}`], `output.pred_iter_${at - 1}`);
      loops.push({ query: at === 0 ? question : `${question} ${last}`, subAnswer: null, documents: found.map(documentOf) });
    }
    return loops;
  }
  if (one) return [{ query: question, subAnswer: null, documents: one.map(documentOf) }];
  throw new BadRecord('bad_field', 'got no retrieval_results, retrieval_result_iter_0 or retrieval_result, expected one of them', 'output');
}

function documentOf({ contents, text, title, score }: z.infer<typeof document>): ReadDocument {
  const content = contents ?? text;
  if (content === null) throw new BadRecord('bad_field', 'a document has neither contents nor text', 'output');
  return contentsDocument(content, title, score ?? 0);
}

function stopReason(reason: string | null, answer: string | null): ReadTrajectory['stop'] {
  if (reason === 'Reach max retrieval number') return 'budget';
  if (reason === null) return 'unknown';
  return reason === 'Finished' && answer !== null ? 'answered' : 'cut_off';
}
