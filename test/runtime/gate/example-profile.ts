import type { Profile } from '../../../runtime/index.js';

const sha = (letter: string): string => letter.repeat(64);

const onTraining = (tau: number, cut: number) => ({ tau, call_cut: cut, agreement: [1], coverage_safety: [1] });
const selection = {
  tau: 0.4,
  extent: 'between' as const,
  before: onTraining(2, 0),
  after: onTraining(0.4, 0.5),
  unchanged: null,
  candidates: 403,
  feasible: 300,
  refused: { agreement: 12, safety: 3, guarantee: 0 },
};
const measured = (value: number) => ({ value, low: value - 0.05, high: value + 0.05 });

/** A profile with every field, small and made up. */
export function exampleProfile(changes: Partial<Profile> = {}): Profile {
  return {
    kind: 'hopgate calibration profile',
    format_version: 1,
    created_by: { product: 'hopgate', version: '0.1.0', command: 'calibrate', seed: 13 },
    tau: 0.4,
    extent: 'between',
    encoder: {
      name: 'minilm',
      model_sha256: sha('a'),
      tokenizer_sha256: sha('b'),
      converter: '1',
      query_prefix: '',
      passage_prefix: '',
      pooling: 'mean',
      dtype: 'fp32',
      max_tokens: 256,
      dimensions: 384,
    },
    aggregation: 'max',
    policy: 'all_match',
    claim_source: 'heuristic',
    claim_text: 'expected_claim',
    drafter_sha256: null,
    evidence_text: 'title+sentence',
    splitter: ['dataset', 'sbd@1.0.19'],
    decider: { name: 'file', identity: { decider: 'file', threshold: 0.5 }, claims: null },
    agents: [{ agent: { agent: 'chain' }, budget: 6 }],
    corpora: [{ retriever: { k1: 1.2 }, top: 3 }],
    datasets: [
      {
        name: 'hotpotqa',
        sha256: sha('c'),
        files: [{ name: 'hotpot.json', sha256: sha('d'), bytes: 100 }],
        questions: { rows: 120, unique: 100, valid: 100 },
        training: 100,
        excluded: { no_claims: 5, no_loop: 15, undecided: 0, repeated: 0 },
      },
    ],
    split: { rule: 'first rows', rows: 600, list_sha256: null },
    repeats: null,
    mode: 'leave-one-dataset-out',
    trained_on: ['hotpotqa'],
    bar: 0.9,
    constraint: 'per-dataset',
    safety_reference: 'own',
    without_gold: false,
    grid: 0.005,
    guarantee: null,
    selection,
    resamples: 10_000,
    folds: [
      {
        target: 'hotpotqa',
        trained_on: ['2wiki'],
        tau: 0.4,
        selection,
        guarantee: null,
        all: {
          questions: { rows: 100, unique: 100, valid: 100 },
          call_cut: measured(0.5),
          agreement: measured(0.86),
          coverage_safety: measured(0.9),
          own_safety: 0.9,
          delta_coverage: measured(-0.1),
          added_loops: measured(0.3),
        },
        held_out: null,
        miss: true,
        exact: { tau: 0.41, call_cut: 0.52, agreement: 0.9, coverage_safety: 0.9 },
        frontier: { tau: 0.45, call_cut: 0.6, agreement: 0.9, coverage_safety: 0.9 },
        slices: [{ claims: 2, questions: 80, agreement: 0.85, call_cut: 0.5 }],
      },
    ],
    quantiles: {
      probabilities: [0, 0.5, 1],
      datasets: [{ dataset: 'hotpotqa', loops: 600, margins: [0.1, 0.5, 1], cosines: [0, 0.5, 0.9] }],
    },
    fallback: { no_claims: 'call', no_evidence: 'margin 2' },
    transferred: [],
    ...changes,
  };
}
