// Claim-free routing by a live gate against `replay`, on a run of one's own with a real imported verifier:
//   node build/bench/claim-free.js RUN DRAFTER VERIFIER PROFILE CLAIMS VERDICTS
// RUN has claims CLAIMS, MiniLM embeddings and the verifier's verdicts VERDICTS. Fails at the first margin, verdict, call or stop that differs.
import { openEncoder } from '../runtime/index.js';
import { checkClaimFree } from '../test/support/claim-free.js';

const [run, drafter, verifier, profile, claims, verdicts] = process.argv.slice(2) as [string, string, string, string, string, string];
const encoder = await openEncoder('minilm');
try {
  console.log(JSON.stringify(await checkClaimFree(run, { encoder, drafter, verifier, profile, claims, verdicts })));
} finally {
  await encoder.close();
}
