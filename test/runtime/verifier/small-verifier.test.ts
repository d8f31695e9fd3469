import assert from 'node:assert/strict';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { CLAIM_FORMS } from '../../../src/core/labels.js';
import { openTensorFlow, readPairRows, trainSmallVerifier } from '../../../distill/index.js';
import {
  type Decision,
  type Encoder,
  type SmallVerifier,
  candidateSentences,
  openSmallVerifier,
  questionVerdict,
  smallDecider,
} from '../../../runtime/index.js';
import type { Claim } from '../../../src/core/claims.js';
import type { LabelRow } from '../../../src/core/labels.js';
import { readManifest } from '../../../src/core/manifest.js';
import { type SmallVerifierDetails, smallVerifierDetails } from '../../../src/core/small-verifier.js';
import { pairOf } from '../../../src/core/pair-features.js';
import type { RetrievedSentence, Trajectory } from '../../../src/core/trajectories.js';
import { changedManifest, damagedCopy } from '../../support/damage.js';
import { temporaryFolder } from '../../support/files.js';
import { labelFolder, twoWikiFile } from '../../support/label-folder.js';
import { trajectoryOf } from '../../support/trajectories.js';
import { wordEncoder } from '../../support/word-encoder.js';

let dir: string;
let rows: LabelRow[];

before(async () => {
  const { folder } = await labelFolder(await twoWikiFile(24), { forms: [...CLAIM_FORMS] });
  const read = await readPairRows([folder]);
  rows = read.heldOut;
  dir = join(await temporaryFolder(), 'verifier');
  await trainSmallVerifier(read, wordEncoder(), await openTensorFlow('wasm'), {
    dir,
    hidden: [16],
    dropout: 0,
    weightDecay: 0,
    learningRate: 0.01,
    batch: 64,
    epochs: 6,
    patience: 0,
    evidenceText: 'title+sentence',
    titleMatch: false,
    seed: 13,
  });
});

type OwnEncoder = Pick<Encoder, 'identity' | 'encode'> & { calls: number; texts: number };

function counting(): OwnEncoder {
  return wordEncoder();
}

async function withVerifier<T>(use: (verifier: SmallVerifier, encoder: OwnEncoder) => Promise<T>): Promise<T> {
  const encoder = counting();
  const verifier = await openSmallVerifier(dir, encoder);
  try {
    return await use(verifier, encoder);
  } finally {
    await verifier.close();
  }
}

test('scores are log-probabilities, and one by one they are those of the batch (P63)', async () => {
  await withVerifier(async (verifier) => {
    const pairs = rows.slice(0, 40).map(pairOf);
    const together = await verifier.score(pairs);
    for (const [at, { lp_match, lp_partial, lp_null }] of together.entries()) {
      const sum = Math.exp(lp_match) + Math.exp(lp_partial) + Math.exp(lp_null);
      assert.ok(Math.abs(sum - 1) < 1e-5 && Math.max(lp_match, lp_partial, lp_null) <= 0);
      const [alone] = await verifier.score([pairs[at] as (typeof pairs)[number]]);
      // The graph's matrix product may add in another order for another number of rows.
      for (const label of ['lp_match', 'lp_partial', 'lp_null'] as const)
        assert.ok(Math.abs((alone?.[label] as number) - (together[at]?.[label] as number)) < 1e-5);
    }
  });
});

test('P31: a small verifier of another encoder is refused by the name of what differs', async () => {
  const other = counting();
  await assert.rejects(openSmallVerifier(dir, { ...other, identity: { ...other.identity, name: 'minilm' } }), {
    name: 'ProfileMismatchError',
    field: 'encoder.name',
    message:
      'encoder.name differs: the small verifier was made with "words", this run uses "minilm"; a small verifier only understands the encoder that it was trained on: train one for this encoder',
  });
  await assert.rejects(openSmallVerifier(dir, { ...other, identity: { ...other.identity, passage_prefix: 'passage: ' } }), {
    name: 'ProfileMismatchError',
    field: 'encoder.passage_prefix',
  });
});

test('a flipped byte in any of its files is refused, read or not, and so is a folder of another kind', async () => {
  for (const { name } of (await readManifest(dir)).outputs) {
    const { folder, file } = await damagedCopy(dir, name);
    const error = await openSmallVerifier(folder, counting()).catch((one: unknown) => one as Error);
    const [got, expected] = (error as Error).message.match(/[0-9a-f]{64}/g) ?? [];
    assert.equal(
      (error as Error).message,
      `${file}: got sha256 ${got}, expected ${expected} as in the manifest: the file was changed or damaged`,
    );
  }
  const { folder } = await labelFolder(await twoWikiFile(3));
  await assert.rejects(openSmallVerifier(folder, counting()), {
    name: 'InputError',
    message: `${join(folder, 'manifest.json')}: got a folder of kind "labels", expected "small-verifier"`,
  });
});

const sentence = (page: number, at: number, text: string): RetrievedSentence => ({ page, sentence: at, title: `T${page}`, text, score: 0 });

test('candidates have at least 20 characters, and are the first 12 of a page in a loop', () => {
  const long = 'This is twenty chars';
  assert.equal(long.length, 20);
  const short = long.slice(1);
  assert.deepEqual(
    candidateSentences([sentence(0, 0, long), sentence(0, 1, short), sentence(0, 2, `  ${short}  `)]).map((one) => one.sentence),
    [0],
  );
  const many = Array.from({ length: 30 }, (_, at) => sentence(at % 2, at, at === 0 ? short : `${long} ${at}`));
  const kept = candidateSentences(many);
  // Sentence 0 is too short and takes no place, so page 0 keeps sentences 2 to 24 and page 1 sentences 1 to 23.
  assert.deepEqual(
    kept.map((one) => one.sentence),
    Array.from({ length: 24 }, (_, at) => at + 1),
  );
});

/** A trajectory over the sentences of held-out rows that the verifier calls match for a claim, and others. */
async function example(verifier: SmallVerifier): Promise<{ trajectory: Trajectory; claims: Claim[]; matched: LabelRow }> {
  const scores = await verifier.score(rows.map(pairOf));
  const says = (at: number): boolean => {
    const { lp_match, lp_partial, lp_null } = scores[at] as (typeof scores)[number];
    return lp_match > Math.max(lp_partial, lp_null);
  };
  const at = rows.findIndex((row, index) => row.form === 'triple' && says(index) && row.evidence_sentence.length >= 20);
  const matched = rows[at] as LabelRow;
  const claim = (index: number, text: string): Claim => ({
    question_id: matched.question_id,
    row: matched.row,
    question: matched.question,
    claim: index,
    source: 'generated',
    page: matched.expected_page,
    expected_target: matched.expected_target,
    role: 'answer_node',
    answer_type: 'entity',
    expected_claim: text,
    subquestion: null,
  });
  const base = trajectoryOf(
    [
      [[0, 0]],
      [
        [1, 0],
        [1, 1],
      ],
      [[2, 0]],
    ],
    matched.question_id,
    matched.row,
  );
  const found = { title: matched.evidence_page, text: matched.evidence_sentence };
  const weather = { title: 'Weather', text: 'It rained on most days of that week.' };
  const trajectory: Trajectory = {
    ...base,
    loops: base.loops.map((loop) => {
      const sentences = loop.sentences.map((one) => Object.assign({}, one, loop.loop === 1 ? weather : found));
      return Object.assign({}, loop, { sentences });
    }),
  };
  return { trajectory, claims: [claim(0, matched.expected_claim)], matched };
}

test('the scan of a claim ends at its first match, all pairs go on, and both give the same verdict', async () => {
  await withVerifier(async (verifier, encoder) => {
    const { trajectory, claims } = await example(verifier);
    const calls = encoder.calls;
    const first = (await smallDecider(verifier).decide({ trajectory, record: null, claims })) as Decision;
    // Once for question and claim, once for all evidence.
    assert.equal(encoder.calls, calls + 2);
    assert.deepEqual(
      first.verdicts.map(({ loop, page, sentence: at }) => [loop, page, at]),
      [
        [1, 0, 0],
        [2, 1, 0],
      ],
    );
    const all = (await smallDecider(verifier, { allPairs: true }).decide({ trajectory, record: null, claims })) as Decision;
    assert.equal(all.verdicts.length, 4);
    const question = { question_id: trajectory.question_id, row: trajectory.row, loops: 3, claims: 1 };
    for (const [decision, scan] of [
      [first, smallDecider(verifier).scan],
      [all, smallDecider(verifier, { allPairs: true }).scan],
    ] as const) {
      const stored = decision.verdicts.map((one) =>
        Object.assign({ question_id: trajectory.question_id, row: trajectory.row, decider: 'small' }, one),
      );
      const verdict = questionVerdict(question, stored, scan);
      assert.deepEqual(
        [verdict.firesByLoop, verdict.pairsByLoop],
        [
          [false, true, true],
          [1, 1, 0],
        ],
      );
    }
  });
});

test('P8, P24: no claims are never covered, and neither is a question without evidence', async () => {
  await withVerifier(async (verifier) => {
    const { trajectory, claims } = await example(verifier);
    const decider = smallDecider(verifier);
    assert.deepEqual(await decider.decide({ trajectory, record: null, claims: [] }), { claims: 0, noClaims: 'no_claims', verdicts: [] });
    const bare = { ...trajectory, loops: trajectory.loops.map((loop) => ({ ...loop, sentences: [] })) };
    assert.deepEqual(await decider.decide({ trajectory: bare, record: null, claims }), { claims: 1, verdicts: [] });
    await assert.rejects(decider.decide({ trajectory, record: null, claims: null }), {
      name: 'InputError',
      message: `row ${trajectory.row}, question ${JSON.stringify(trajectory.question_id)}: the small verifier reads claims, and none were given`,
    });
  });
});

test('a manifest whose features, widths or parameters are not those of weights and graph is refused', async () => {
  const { parameters } = smallVerifierDetails.parse((await readManifest(dir)).details);
  // Five parts of 24 numbers and 14 scalars make 134 inputs; the title's match is one more.
  assert.equal(parameters, 134 * 16 + 16 + 16 * 3 + 3);
  const cases: [(details: SmallVerifierDetails) => void, string][] = [
    [
      ({ features }) => (features.title_match = true),
      ', field hidden.0.weight: got the shape [134,16], expected [135,16] as in the manifest',
    ],
    [(details) => (details.hidden = [17]), ', field hidden.0.weight: got the shape [134,16], expected [134,17] as in the manifest'],
    [(details) => (details.parameters = 1), `: the manifest says 1 parameters, expected ${parameters}, as many as these weights are`],
  ];
  for (const [change, message] of cases) {
    const folder = await changedManifest(dir, smallVerifierDetails, change);
    await assert.rejects(openSmallVerifier(folder, counting()), {
      name: 'InputError',
      message: `${join(folder, 'small-verifier.safetensors')}${message}`,
    });
  }
});
