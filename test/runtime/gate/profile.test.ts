import assert from 'node:assert/strict';
import { mkdtemp, readFile, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  type Profile,
  type ProfileUse,
  matchProfile,
  parseProfile,
  profileSchema,
  profileText,
  readProfile,
  writeProfile,
} from '../../../runtime/index.js';
import { exampleProfile } from './example-profile.js';

async function folder(): Promise<string> {
  return mkdtemp(join(tmpdir(), 'hopgate-'));
}

function useOf(changes: Partial<ProfileUse> = {}): ProfileUse {
  const profile = exampleProfile();
  return {
    encoder: profile.encoder,
    aggregation: profile.aggregation,
    evidenceText: profile.evidence_text,
    claimSource: profile.claim_source,
    claimText: profile.claim_text,
    splitter: ['dataset'],
    policy: profile.policy,
    decider: profile.decider,
    agents: profile.agents,
    corpora: profile.corpora,
    ...changes,
  };
}

test('P33: a profile comes back from its file as it was written, and equal profiles are equal bytes', async () => {
  const dir = await folder();
  const [a, b] = [join(dir, 'a.json'), join(dir, 'b.json')];
  await writeProfile(a, exampleProfile());
  const back = await readProfile(a);
  assert.deepEqual(back, exampleProfile());
  // Another order of keys, the same bytes.
  await writeProfile(b, Object.fromEntries(Object.entries(back).toReversed()) as typeof back);
  assert.equal(await readFile(a, 'utf8'), await readFile(b, 'utf8'));
  assert.deepEqual((await readdir(dir)).toSorted(), ['a.json', 'b.json']);
});

test('P34: a profile that lacks any one of its fields is invalid, and the field is named', () => {
  const whole = JSON.parse(profileText(exampleProfile())) as { [field: string]: unknown };
  // Profiles made before drift was tested have no first margins, and those of cached runs come from no log.
  const fields = Object.keys(profileSchema.shape).filter((field) => !['first_margins', 'from_log', 'own_questions'].includes(field));
  // Data version, held-out folds, coverage, uncertainty, failure slices, fallback, reproducibility: none may be left out.
  for (const field of ['datasets', 'folds', 'quantiles', 'fallback', 'guarantee', 'safety_reference', 'split', 'created_by', 'encoder']) {
    assert.ok(fields.includes(field), field);
  }
  for (const field of fields) {
    const { [field]: _left, ...rest } = whole;
    assert.throws(
      () => parseProfile(rest, 'p.json'),
      (error: Error) =>
        error.name === 'InputError' && error.message.startsWith(`p.json, field ${field}: not a valid calibration profile: `),
      field,
    );
  }
});

test('P34: fields inside folds and slices may not be left out either', () => {
  const profile = exampleProfile();
  const fold = { ...(profile.folds[0] as object), slices: undefined };
  assert.throws(() => parseProfile({ ...profile, folds: [fold] }, 'p.json'), {
    name: 'InputError',
    message: 'p.json, field folds.0.slices: not a valid calibration profile: Invalid input: expected array, received undefined',
  });
});

test('P34: parts that contradict each other are refused: another τ than the selected one, quantiles that are missing or of another length', () => {
  const whole = exampleProfile();
  const wrong = (changes: Partial<Profile>, field: string, message: string): void => {
    assert.throws(() => parseProfile(exampleProfile(changes)), {
      name: 'InputError',
      message: `field ${field}: not a valid calibration profile: ${message}`,
    });
  };
  wrong({ tau: 0.5 }, 'tau', 'got 0.5, expected 0.4 as in selection.tau');
  wrong({ extent: 'calls always' }, 'extent', 'got "calls always", expected "between" as in selection.extent');
  wrong({ folds: [] }, 'folds', 'got none: nothing is known about how this τ holds');
  wrong({ quantiles: { probabilities: [], datasets: [] } }, 'quantiles.probabilities', 'got none');
  wrong({ quantiles: { ...whole.quantiles, datasets: [] } }, 'quantiles.datasets', 'got none of hotpotqa');
  const first = (questions: number, first_bin: number): Partial<Profile> => ({
    first_margins: { width: 0.005, datasets: [{ dataset: 'hotpotqa', questions, first_bin, counts: [1, 2] }] },
  });
  wrong(first(4, 10), 'first_margins.datasets', 'hotpotqa: the bins hold 3 questions, expected 4');
  wrong(first(3, 400), 'first_margins.datasets', 'hotpotqa: its last bin starts above 2, the largest margin');
  assert.deepEqual(parseProfile(exampleProfile(first(3, 399))).first_margins?.datasets[0]?.counts, [1, 2]);
});

test('refuses a file that is missing, no JSON, a folder, or has a field too many', async () => {
  const dir = await folder();
  const file = join(dir, 'p.json');
  await assert.rejects(readProfile(file), { name: 'InputError', message: `${file}: no such file` });
  await assert.rejects(readProfile(dir), { name: 'InputError', message: `${dir}: a folder, expected a profile file` });
  await writeFile(file, '{');
  await assert.rejects(readProfile(file), { name: 'InputError', message: /p\.json: not JSON \(/ });
  assert.throws(() => parseProfile({ ...exampleProfile(), threshold: 1 }, file), {
    name: 'InputError',
    message: `${file}: not a valid calibration profile: Unrecognized key: "threshold"`,
  });
});

test('holds no clock time and no path', () => {
  const text = profileText(exampleProfile());
  assert.doesNotMatch(text, /\d{4}-\d\d-\d\dT|\/(home|tmp|root|Users)\//);
});

test('a profile fits what it was made for', () => {
  assert.deepEqual(matchProfile(exampleProfile(), useOf()), { transferred: [] });
});

test('P31: a profile of one encoder is refused with another, naming the first field that differs', () => {
  const { encoder } = exampleProfile();
  const other = { ...encoder, name: 'e5-base-v2', query_prefix: 'query: ', dimensions: 768 };
  assert.throws(() => matchProfile(exampleProfile(), useOf({ encoder: other })), {
    name: 'ProfileMismatchError',
    field: 'encoder.name',
    message:
      'encoder.name differs: the profile was made with "minilm", this run uses "e5-base-v2"; a threshold does not carry over: calibrate again',
  });
});

test('P39: every part of an encoder’s identity counts, and --transfer does not reach it', () => {
  const { encoder } = exampleProfile();
  const others = {
    name: 'other',
    model_sha256: 'e'.repeat(64),
    tokenizer_sha256: 'e'.repeat(64),
    converter: '2',
    query_prefix: 'query: ',
    passage_prefix: 'query: ',
    pooling: 'cls',
    dtype: 'int8',
    max_tokens: 512,
    dimensions: 768,
  } as const;
  assert.deepEqual(Object.keys(others), Object.keys(encoder));
  for (const [field, value] of Object.entries(others)) {
    for (const transfer of [false, true]) {
      assert.throws(
        () => matchProfile(exampleProfile(), useOf({ encoder: { ...encoder, [field]: value } }), { transfer }),
        (error: Error & { field?: string }) => error.name === 'ProfileMismatchError' && error.field === `encoder.${field}`,
        field,
      );
    }
  }
});

test('aggregation, evidence text, claim text and splitter are refused even with --transfer', () => {
  const cases: [Partial<ProfileUse>, string][] = [
    [{ aggregation: 'top2' }, 'aggregation'],
    [{ evidenceText: 'sentence' }, 'evidence_text'],
    [{ claimText: 'title' }, 'claim_text'],
    [{ splitter: ['sbd@2.0.0'] }, 'splitter'],
  ];
  for (const [change, field] of cases) {
    assert.throws(
      () => matchProfile(exampleProfile(), useOf(change), { transfer: true }),
      (error: Error & { field?: string }) => error.name === 'ProfileMismatchError' && error.field === field,
      field,
    );
  }
});

test('P17: a profile of sentences split by one splitter is refused for another’s', () => {
  assert.throws(() => matchProfile(exampleProfile(), useOf({ splitter: ['dataset', 'sbd@1.0.20'] })), {
    name: 'ProfileMismatchError',
    message:
      'splitter differs: the profile was made with ["dataset","sbd@1.0.19"], this run uses ["dataset","sbd@1.0.20"]; a threshold does not carry over: calibrate again',
  });
});

test('another decider, policy, agent, corpus or claim source is refused, and with transfer applied and named', () => {
  const cases: [Partial<ProfileUse>, string][] = [
    [{ decider: { name: 'gold', identity: exampleProfile().decider.identity } }, 'decider.name: "file" → "gold"'],
    [{ decider: { name: 'file', identity: { decider: 'file', threshold: 0.9 } } }, 'decider.identity: {"decider":"file","threshold":0.5} → {"decider":"file","threshold":0.9}'],
    [{ policy: 'any_match' }, 'policy: "all_match" → "any_match"'],
    [{ agents: [{ agent: 'other' }] }, 'agents: [{"agent":{"agent":"chain"},"budget":6}] → [{"agent":"other"}]'],
    [{ corpora: [{ retriever: 'dense' }] }, 'corpora: [{"retriever":{"k1":1.2},"top":3}] → [{"retriever":"dense"}]'],
    [{ claimSource: 'generated' }, 'claim_source: "heuristic" → "generated"'],
  ]; // prettier-ignore
  for (const [change, words] of cases) {
    assert.throws(() => matchProfile(exampleProfile(), useOf(change)), {
      name: 'ProfileMismatchError',
      message: /; --transfer applies the profile knowingly$/,
    });
    assert.deepEqual(matchProfile(exampleProfile(), useOf(change), { transfer: true }), { transferred: [words] });
  }
});

test('another claim source brings its own claim text with it, and both are named', () => {
  const use = useOf({ claimSource: 'gold', claimText: 'title' });
  assert.deepEqual(matchProfile(exampleProfile(), use, { transfer: true }).transferred, [
    'claim_source: "heuristic" → "gold"',
    'claim_text: "expected_claim" → "title"',
  ]);
});

test('what a live host does not know is not compared', () => {
  const { encoder, aggregation, evidenceText, claimSource, claimText } = useOf();
  assert.deepEqual(matchProfile(exampleProfile(), { encoder, aggregation, evidenceText, claimSource, claimText }), { transferred: [] });
});
