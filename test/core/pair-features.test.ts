import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  PAIR_FEATURES_VERSION,
  PAIR_SCALARS,
  type Pair,
  type PairFeatureSet,
  pairFeatureWidth,
  pairTexts,
  readWords,
  writePairFeatures,
} from '../../src/core/pair-features.js';

const plain: PairFeatureSet = { version: PAIR_FEATURES_VERSION, evidence_text: 'title+sentence', title_match: false };
const pair: Pair = {
  question: 'Who directed the film Ember?',
  claim: 'Ember director Ann Lee',
  claimPage: 'Ember (film)',
  evidencePage: 'Ember &amp; Ash',
  sentence: 'It was directed by Ann Lee in 1999.',
};
const unit = (...values: number[]): Float32Array => Float32Array.from(values, (one) => one / Math.hypot(...values));
const vectors = { question: unit(1, 0), claim: unit(3, 4), evidence: unit(0, 1) };

function features(of: Pair, set: PairFeatureSet, at = 0): Float32Array {
  const target = new Float32Array(at + pairFeatureWidth(set, 2));
  writePairFeatures(target, at, { pair: of, vectors, read: readWords }, set);
  return target.subarray(at);
}

test('the scalars are cosines and shares of words', () => {
  const scalars = Object.fromEntries(PAIR_SCALARS.map((name, at) => [name, features(pair, plain)[10 + at] as number]));
  const expected: typeof scalars = {
    cosine_claim_evidence: 0.8,
    cosine_question_evidence: 0,
    cosine_question_claim: 0.6,
    // ember, director, ann, lee; the sentence has directed, ann, lee, 1999; the question directed, film, ember.
    claim_words_in_sentence: 2 / 4,
    sentence_words_in_claim: 2 / 4,
    question_words_in_sentence: 1 / 3,
    sentence_words_in_question: 1 / 4,
    // director, ann, lee are not in the question.
    new_claim_words_in_sentence: 2 / 3,
    claim_words_in_question: 1 / 4,
    // ember, ann, lee.
    claim_names_in_sentence: 2 / 3,
    // ann, lee, 1999 ("It" is a function word).
    sentence_names_in_claim: 2 / 3,
    sentence_has_new_name: 1,
    // Eight words; four words.
    sentence_length: Math.log1p(8) / 4,
    claim_length: Math.log1p(4) / 4,
  };
  for (const name of PAIR_SCALARS)
    // Stored as 32-bit floats, whose relative error is 6e-8.
    assert.ok(
      Math.abs((scalars[name] as number) - (expected[name] as number)) < 1e-6,
      `${name}: ${scalars[name]}, expected ${expected[name]}`,
    );
});

test('without the title match the pages change nothing but the encoded text, and with it one number is added', () => {
  const other = { ...pair, claimPage: 'Elsewhere', evidencePage: 'Nowhere' };
  assert.deepEqual(features(other, plain), features(pair, plain));
  const matching = { ...plain, title_match: true };
  assert.equal(pairFeatureWidth(matching, 2), pairFeatureWidth(plain, 2) + 1);
  assert.equal(features(pair, matching).at(-1), 0);
  assert.equal(features({ ...pair, claimPage: 'Ember & Ash' }, matching).at(-1), 1);
  assert.deepEqual(features(pair, matching).subarray(0, -1), features(pair, plain));
  assert.deepEqual(pairTexts(pair, plain).evidence, 'Ember &amp; Ash. It was directed by Ann Lee in 1999.');
  assert.deepEqual(pairTexts(pair, { ...plain, evidence_text: 'sentence' }).evidence, 'It was directed by Ann Lee in 1999.');
});

test('any texts, empty ones included, give finite numbers, every one of them written, wherever they are written', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'grapheme' }), { minLength: 5, maxLength: 5 }), fc.nat(7), (texts, at) => {
      const [question = '', claim = '', claimPage = '', evidencePage = '', sentence = ''] = texts;
      const any = { question, claim, claimPage, evidencePage, sentence };
      const set = { ...plain, title_match: true };
      const target = new Float32Array(at + pairFeatureWidth(set, 2)).fill(NaN);
      writePairFeatures(target, at, { pair: any, vectors, read: readWords }, set);
      assert.ok(target.subarray(at).every(Number.isFinite));
      assert.ok(target.subarray(0, at).every(Number.isNaN));
      assert.deepEqual(target.subarray(at), features(any, set));
    }),
  );
});
