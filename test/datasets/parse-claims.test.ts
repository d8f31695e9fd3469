import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { jsonIn } from '../../datasets/lenient-json.js';
import { type SaidClaim, parseClaims } from '../../datasets/parse-claims.js';
import { CLAIM_ROLES } from '../../src/core/claims.js';
import { REPLY_CASES } from './malformed-claims.js';

const QUESTION = 'Where was the director of Salt Road born?';

function shown({ page, expected_target, role, answer_type, expected_claim }: SaidClaim): string {
  return [page, expected_target, role, answer_type, expected_claim].join('|');
}

test('P97: the corpus of malformed replies has at least 60 cases, no two of one reply', () => {
  assert.ok(REPLY_CASES.length >= 60, String(REPLY_CASES.length));
  assert.equal(new Set(REPLY_CASES.map(({ reply }) => reply)).size, REPLY_CASES.length);
});

for (const { name, reply, claims, fallback } of REPLY_CASES) {
  test(`P97: ${name} ${claims ? `gives ${claims.length === 1 ? 'one claim' : `${claims.length} claims`}` : `falls back: ${fallback}`}`, () => {
    const parsed = parseClaims(reply, QUESTION);
    if (claims) assert.deepEqual(parsed.claims.map(shown), claims);
    else assert.equal(parsed.claims.length, fallback === 'empty_reply' ? 0 : 1);
    assert.equal(parsed.fallback, fallback ?? null);
  });
}

test('P97: the fallback is the question and the reply’s first sentence, without fences, brackets and quotes', () => {
  const claimOf = (reply: string): string => parseClaims(reply, ` ${QUESTION}\n`).claims.map(shown).join();
  assert.equal(claimOf('Mara Quill was born in Velm. She died.'), `||answer_node||${QUESTION} Mara Quill was born in Velm.`);
  assert.equal(claimOf('```json\n{"target_entity": "Salt'), `||answer_node||${QUESTION} target_entity: Salt`);
  assert.equal(claimOf('The answer is:\nThe answer is:'), `||answer_node||${QUESTION} The answer is:`);
  assert.equal(claimOf('[]'), `||answer_node||${QUESTION}`);
});

test('a reply in the form that was asked for is read plainly, any other is repaired and said so', () => {
  const list = [{ target_entity: 'A', expected_target: 'B', role: 'answer_node', answer_type: 'date', expected_claim: 'A is of B.' }];
  const readingOf = (value: unknown): string => parseClaims(JSON.stringify(value), QUESTION).reading;
  assert.deepEqual([readingOf(list), readingOf({ claims: list })], ['plain', 'plain']);
  const others = [{ other: list }, list[0], [{ ...list[0], more: 1 }], [{ ...list[0], role: 'final' }], [{ ...list[0], answer_type: 4 }]];
  assert.deepEqual(others.map(readingOf), ['repaired', 'repaired', 'repaired', 'repaired', 'repaired']);
  assert.deepEqual([readingOf([]), parseClaims('', QUESTION).reading], ['fallback', 'none']);
});

const piece = fc.oneof(
  fc.constantFrom(
    '[', ']', '{', '}', ',', ':', '"', "'", '“', '”', '`', '```json', '\n', '\\', '\\u12', '//', '/*', '*/', '<think>', '</think>', '<|im_end|>',
    '"target_entity"', 'expected_claim', '"expected_claim": ', '"role": "bridge"', 'null', '1e5', '…', '\ud83d', '__proto__', 'constructor', '. ',
  ),
  fc.string({ unit: 'grapheme', maxLength: 12 }),
); // prettier-ignore

test('P97: whatever the reply, parsing never throws, and no claim is empty', () => {
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 60 }), fc.boolean(), (pieces, spaced) => {
      const reply = pieces.join(spaced ? ' ' : '');
      const { claims, reading, fallback } = parseClaims(reply, QUESTION);
      for (const claim of claims) {
        assert.notEqual(claim.expected_claim.trim(), '');
        assert.ok(CLAIM_ROLES.includes(claim.role));
        for (const value of Object.values(claim)) assert.ok(value.isWellFormed() && value === value.trim());
      }
      assert.equal(claims.length === 0, fallback === 'empty_reply');
      assert.equal(fallback !== null, reading === 'fallback' || reading === 'none');
      if (fallback !== null && claims.length > 0) assert.equal(claims.length, 1);
    }),
    { numRuns: 2000, seed: 13 },
  );
});

test('P97: any JSON value as a reply is parsed without a throw, and without an empty claim', () => {
  fc.assert(
    fc.property(fc.json({ maxDepth: 5 }), (reply) => {
      for (const { expected_claim } of parseClaims(reply, QUESTION).claims) assert.notEqual(expected_claim.trim(), '');
    }),
    { numRuns: 500, seed: 13 },
  );
});

test('what JSON.parse reads, the lenient reader reads the same', () => {
  const text = fc.string({ unit: 'grapheme' });
  const value = fc.letrec((tie) => ({
    any: fc.oneof({ maxDepth: 4 }, text, fc.integer(), fc.boolean(), fc.constant(null), tie('list'), tie('object')),
    list: fc.array(tie('any')),
    object: fc.dictionary(text, tie('any'), { noNullPrototype: true }),
  }));
  fc.assert(
    fc.property(value.list, fc.constantFrom(0, 2), (list, indent) => {
      const { values, unclosed } = jsonIn(JSON.stringify(list, null, indent));
      assert.deepEqual(JSON.parse(JSON.stringify(values)), [list]);
      assert.equal(unclosed.size, 0);
    }),
    { numRuns: 500, seed: 13 },
  );
});

test('brackets nested without end are no loop without end', () => {
  for (const reply of ['['.repeat(20_000), '{"a":'.repeat(4_000), '["'.repeat(10_000), '{'.repeat(20_000), '"'.repeat(20_000)]) {
    assert.equal(parseClaims(reply, QUESTION).claims.length, 1);
  }
});
