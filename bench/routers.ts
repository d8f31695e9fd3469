// The gate beside every router that it is compared with, and beside random skipping at its own call cut, on runs that are made already; then what
// the order of the claims saves at the gate's τ at agreement ≥ 0.90, and whom the continue-side trigger flags there. After compiling the tests:
//   node build/bench/routers.js RUN…      (DECIDER, CLAIMS, CLAIM_TEXT, ENCODER and RESAMPLES in the environment; defaults gold, gold,
//                                          subquestion-or-title, minilm, 1000)
import type { ClaimText } from '../src/core/claims.js';
import {
  FRONTIER_AGREEMENT,
  ROUTER_NAMES,
  alwaysVerify,
  claimOrderWork,
  compareRouters,
  continueTrigger,
  cutAtAgreement,
  gate,
  joinRuns,
  loadRun,
  routerTables,
  textTable,
  thresholdCurve,
} from '../src/evaluate/index.js';

const folders = process.argv.slice(2);
if (folders.length === 0) {
  console.log('routers: left out, no runs given; node build/bench/routers.js RUN…');
} else {
  const { DECIDER = 'gold', CLAIMS = 'gold', CLAIM_TEXT = 'subquestion-or-title', ENCODER = 'minilm', RESAMPLES = '1000' } = process.env;
  const loaded = [];
  for (const folder of folders) {
    loaded.push(
      await loadRun(folder, { decider: DECIDER, claims: CLAIMS, encoder: ENCODER, claimText: CLAIM_TEXT as ClaimText }, { signals: true }),
    );
  }
  const { datasets } = joinRuns(loaded);
  const compared = compareRouters(datasets, { routers: ROUTER_NAMES, resamples: Number(RESAMPLES) });
  for (const { title, cells } of routerTables(compared)) console.log(`${title}\n${textTable(cells.header, cells.rows)}\n`);
  for (const { dataset, questions } of datasets) {
    const { tau } = cutAtAgreement(thresholdCurve(questions), FRONTIER_AGREEMENT);
    console.log(dataset, JSON.stringify({ always: claimOrderWork(questions, alwaysVerify), gate: claimOrderWork(questions, gate(tau)) }));
    console.log(dataset, JSON.stringify(continueTrigger(questions, { tau })));
  }
}
