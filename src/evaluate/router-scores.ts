import { InputError } from '../core/errors.js';
import type { Fidelity } from '../core/fidelity.js';
import { roundMargin } from '../core/units.js';
import type { CheapSignals } from './cheap-signals.js';
import { type Fitted, fitLogistic } from './logistic-fit.js';
import type { QuestionRun } from './question-run.js';
import { fitTwoLayer } from './two-layer-fit.js';

const NOTES = {
  'evidence-count': ['exact', 'CoVeR: skip while few sentences are retrieved'],
  lexical: [
    'approximate',
    'CoVeR: recall of each claim’s content words; the list of function words and the union of all evidence are our own',
  ],
  'bm25-router': ['approximate', 'CoVeR: per claim, over its maximum in the question’s own pool; Lucene’s form of BM25 for Okapi’s'],
  logistic: [
    'approximate',
    'CoVeR: the cheap signals, missing ones as covered; standardised and with an L2 penalty of 1, which the paper does not print',
  ],
  mlp: ['approximate', 'CoVeR: a two-layer network on the same; 16 hidden units, 300 epochs of Adam, which the paper does not print'],
  'logistic+margin': ['approximate', 'as logistic, with the margin among the signals'],
  'mlp+margin': ['approximate', 'as mlp, with the margin among the signals'],
} as const satisfies { [name: string]: readonly [Fidelity['fidelity'], string] };

export type RouterName = keyof typeof NOTES;

/** The routers that the gate is compared with: each gives every loop a score in [0, 2] that, like the margin, is the lower the more is covered. */
export const ROUTER_NAMES = Object.keys(NOTES) as RouterName[];

/** What a router differs in from the paper that it comes from. */
export function routerFidelity(name: RouterName): { fidelity: Fidelity['fidelity']; fidelityNote: string } {
  const [fidelity, fidelityNote] = NOTES[name];
  return { fidelity, fidelityNote };
}

/** The scores of a question's loops, rounded as margins are. */
export type RouterScores = (question: QuestionRun) => Float64Array;

/**
 * The scores of a router. Those that are learnt are fitted on `training`, all loops of it, to say whether the decider fires; the others do
 * not look at it. `training` in one order of rows gives the same scores to the bit (`inRowOrder`).
 * Throws InputError for a question without the signal that the router is.
 */
export function routerScores(name: RouterName, training: readonly QuestionRun[], { seed = 13 }: { seed?: number } = {}): RouterScores {
  switch (name) {
    case 'evidence-count':
      return (question) => Float64Array.from(signalsOf(question).sentences, (count) => roundMargin(1 / (1 + count)));
    case 'lexical':
      return (question) => signalsOf(question).lexical;
    case 'bm25-router':
      return (question) => {
        const { bm25 } = signalsOf(question);
        if (bm25) return bm25;
        throw new InputError('bm25-router: needs the question’s own pages, and this run has none', {
          questionId: question.id,
          row: question.row,
        });
      };
    case 'logistic':
    case 'logistic+margin':
    case 'mlp':
    case 'mlp+margin':
      return learntScores(name, training, seed);
  }
}

/** The run with a router's scores in the place of its margins: everything that is made of margins (curve, τ, frontier) then is the router's. */
export function withScores(question: QuestionRun, scores: RouterScores): QuestionRun {
  return { ...question, margins: scores(question) };
}

function learntScores(name: RouterName, training: readonly QuestionRun[], seed: number): RouterScores {
  const withMargin = name.endsWith('+margin');
  const rows = training.flatMap((question) => featuresOf(question, withMargin));
  const targets = training.flatMap((question) => [...question.fires]);
  const probability: Fitted = name.startsWith('mlp') ? fitTwoLayer(rows, targets, { seed }) : fitLogistic(rows, targets).probability;
  return (question) => Float64Array.from(featuresOf(question, withMargin), (features) => roundMargin(1 - probability(features)));
}

/** One row a loop: count, lexical, BM25, loop, loop / last. */
function featuresOf(question: QuestionRun, withMargin: boolean): number[][] {
  const { sentences, lexical, bm25 } = signalsOf(question);
  const loops = question.margins.length;
  return Array.from({ length: loops }, (_, at) => [
    sentences[at] as number,
    lexical[at] as number,
    bm25?.[at] ?? 0,
    at + 1,
    (at + 1) / loops,
    ...(withMargin ? [question.margins[at] as number] : []),
  ]);
}

function signalsOf(question: QuestionRun): CheapSignals {
  if (question.signals) return question.signals;
  throw new InputError('routers need the cheap signals, which were not read with this run', { questionId: question.id, row: question.row });
}
