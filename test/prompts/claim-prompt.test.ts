import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLAIM_ROLES } from '../../src/core/claims.js';
import {
  CLAIM_FIELDS,
  CLAIM_ROLE_DEFINITIONS,
  CLAIM_SCHEMA,
  CLAIM_TOKENS,
  claimContents,
  claimPromptSha256,
} from '../../src/prompts/index.js';

test('P23: roles and fields have one glossary: prompt, schema and claims table name the same ones, each with its one meaning', () => {
  const { user } = claimContents('Where?');
  assert.deepEqual(Object.keys(CLAIM_ROLE_DEFINITIONS).toSorted(), CLAIM_ROLES.toSorted());
  for (const [role, meaning] of Object.entries(CLAIM_ROLE_DEFINITIONS)) assert.equal(user.split(`${role}: ${meaning}`).length, 2, role);
  for (const [field, meaning] of Object.entries(CLAIM_FIELDS)) assert.equal(user.split(`\n${field}: ${meaning}`).length, 2, field);
  const { items } = CLAIM_SCHEMA.properties.claims;
  assert.deepEqual(Object.keys(items.properties), Object.keys(CLAIM_FIELDS));
  assert.deepEqual(items.required, Object.keys(CLAIM_FIELDS));
  assert.deepEqual(items.properties.role.enum, CLAIM_ROLES);
});

test('P23: the meanings have the polarity of the roles: a bridge leads on, the answer’s node holds it, an intermediate does neither', () => {
  assert.match(CLAIM_ROLE_DEFINITIONS.bridge_title, /leads on/);
  assert.match(CLAIM_ROLE_DEFINITIONS.answer_node, /holds the answer/);
  assert.match(CLAIM_ROLE_DEFINITIONS.intermediate, /neither/);
});

test('the user turn is the task, the question and a cue; from evidence it is another prompt with another hash', () => {
  const { system, user } = claimContents('Where\nis it?');
  assert.ok(user.endsWith('\n\nQuestion: Where is it?\nJSON list:'));
  const after = claimContents('Where?', 'A: b.\nC: d.');
  assert.ok(after.user.endsWith('\n\nQuestion: Where?\nFound so far:\nA: b.\nC: d.\nJSON list:'));
  assert.equal(after.system, system);
  assert.notEqual(claimPromptSha256(), claimPromptSha256({ evidence: true }));
  assert.equal(CLAIM_TOKENS, 256);
});
