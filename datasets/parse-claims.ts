import { CLAIM_ROLES, type Claim } from '../src/core/claims.js';
import { splitSentences } from '../src/core/sentences.js';
import { foldSpace } from '../src/core/text.js';
import { CLAIM_FIELDS, type ClaimField, spoken } from '../src/prompts/index.js';
import { jsonIn } from './lenient-json.js';

/** Why a question has the one fallback claim instead of the model's, or none. */
export const FALLBACKS = {
  empty_reply: 'the reply says nothing: no claim',
  not_json: 'no list and no object in the reply',
  cut_off: 'the reply ends inside its first claim',
  no_claim: 'what JSON the reply has names no claim (an empty list, the fields or their meanings repeated)',
} as const;
export type Fallback = keyof typeof FALLBACKS;

/** What a model says of a claim. */
export type SaidClaim = Pick<Claim, 'page' | 'expected_target' | 'role' | 'answer_type' | 'expected_claim'>;

export interface ParsedClaims {
  /** Empty only where the reply was. */
  claims: SaidClaim[];
  /** `plain`: JSON as it was asked for. `repaired`: read all the same. */
  reading: 'plain' | 'repaired' | 'fallback' | 'none';
  /** Null where the claims are the model's. */
  fallback: Fallback | null;
}

/** Replies are read up to here: far behind what 256 tokens can hold. */
const MAX_LENGTH = 20_000;

/**
 * The claims in a model's reply (method.md §2). JSON as it was asked for is taken as it is. Everything else gets one repair, of the text and
 * without a second call: the list is looked for in prose and fences, wrappers and nested lists are opened, synonyms of the fields and
 * roles understood, values of other types made text; of a list that was cut off the whole objects stay. A claim without `expected_claim` says
 * what it expects of which page. Where that yields nothing, the question and the reply's first sentence make one claim; an empty reply
 * makes none. No claim's `expected_claim` is ever empty. Never throws.
 */
export function parseClaims(reply: string, question: string): ParsedClaims {
  const text = spoken(reply.slice(0, MAX_LENGTH).toWellFormed());
  if (text.replace(/```[a-z]*/gi, '').trim() === '') return { claims: [], reading: 'none', fallback: 'empty_reply' };
  const plain = plainClaims(text);
  if (plain) return { claims: plain, reading: 'plain', fallback: null };
  const found = jsonIn(text);
  const claims = firstClaims(found.values, found.unclosed);
  if (claims.length > 0) return { claims: withRoles(claims), reading: 'repaired', fallback: null };
  const fallback = found.values.length === 0 ? 'not_json' : isCutOff(found.values, found.unclosed) ? 'cut_off' : 'no_claim';
  const claim = foldSpace(`${foldSpace(question.toWellFormed())} ${firstSentence(text)}`);
  // Only a question that is empty itself comes here without a word.
  if (claim === '') return { claims: [], reading: 'none', fallback };
  return {
    claims: [{ page: '', expected_target: '', role: 'answer_node', answer_type: '', expected_claim: claim }],
    reading: 'fallback',
    fallback,
  };
}

/** The list that was asked for, as it is or as the schema wraps it; undefined where anything about it is otherwise. */
function plainClaims(text: string): SaidClaim[] | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (isObject(value) && Object.keys(value).length === 1) value = value.claims;
  if (!Array.isArray(value) || value.length === 0) return undefined;
  const claims: SaidClaim[] = [];
  for (const item of value as unknown[]) {
    if (!isObject(item) || Object.keys(item).length !== FIELDS.length) return undefined;
    if (!FIELDS.every((name) => typeof item[name] === 'string')) return undefined;
    const said = Object.fromEntries(FIELDS.map((name) => [name, plainText(item[name] as string)])) as { [name in ClaimField]: string };
    const role = CLAIM_ROLES.find((one) => one === said.role);
    if (role === undefined || said.expected_claim === '' || FIELDS.some((name) => isNoValue(name, said))) return undefined;
    claims.push({ ...claimFields(said), role });
  }
  return claims;
}

const FIELDS = Object.keys(CLAIM_FIELDS) as ClaimField[];

/** Names under which models give the fields, in order of preference; compared without case, spaces and signs. */
const SYNONYMS: { readonly [name in ClaimField]: readonly string[] } = {
  target_entity: ['targetentity', 'entity', 'targetpage', 'pagetitle', 'page', 'title', 'target', 'entityname', 'name', 'subject'],
  expected_target: ['expectedtarget', 'expectedentity', 'expectedanswer', 'expectedvalue', 'targetvalue', 'answer', 'value', 'object'],
  role: ['role', 'targetrole', 'entityrole', 'hoprole', 'roleinquestion'],
  answer_type: ['answertype', 'expectedtype', 'expectedanswertype', 'entitytype', 'type'],
  expected_claim: [
    'expectedclaim', 'claim', 'hopclaim', 'expectedhopclaim', 'expectedevidence', 'expectedfact', 'statement', 'fact', 'evidence',
    'information', 'description', 'sentence', 'text',
  ],
}; // prettier-ignore

/** A claim as it was said: the role still in the model's own word. */
type Said = { [name in ClaimField]: string };

/**
 * The claims of the first value that has any. Objects one behind the other, without a list around them, are a list.
 */
function firstClaims(values: readonly unknown[], unclosed: ReadonlySet<object>): Said[] {
  const found: Said[] = [];
  for (const value of values) {
    const claims = claimsIn(value, unclosed);
    const single = isObject(value) && claims.length === 1;
    if (found.length > 0 && !single) break;
    found.push(...claims);
    if (claims.length > 0 && !single) break;
  }
  return found;
}

function claimsIn(value: unknown, unclosed: ReadonlySet<object>): Said[] {
  if (Array.isArray(value)) {
    const items = value as unknown[];
    if (items.length > 0 && items.every((one) => typeof one === 'string')) return items.flatMap((one) => claimOfWords(one));
    return items.flatMap((one) => claimsIn(one, unclosed));
  }
  if (!isObject(value)) return [];
  const own = ownFields(value);
  const inside = Object.entries(value).filter(([key, one]) => isListOfClaims(key, one, own));
  const listed = inside.flatMap(([, one]) => claimsIn(one, unclosed));
  if (listed.length > 0) return listed;
  const said = columnsOf(value).flatMap((one) => claimOf(one, unclosed.has(value)));
  if (said.length > 0) return said;
  return Object.values(value).flatMap((one) => claimsIn(one, unclosed));
}

/**
 * Whether the claims stand inside this field, so that the object around it, with a title or the question repeated, is none. A claim that brings
 * its sources along stays one: what it holds says less than it does.
 */
function isListOfClaims(key: string, value: unknown, own: number): boolean {
  const name = nameOf(key);
  const isNamed = /(?:claims|hops|steps|facts|list|items)$/.test(name);
  if (isTextList(value)) return name.endsWith('claims') || (isNamed && own < 2);
  const inside = mostFields(value);
  return inside > 0 && (inside > own || (isNamed && own < FIELDS.length - 1));
}

/** How many of a claim's fields an object itself names, with values that are no objects and no lists of them. */
function ownFields(value: Fields): number {
  const plain = Object.entries(value).filter(([, one]) => !(Array.isArray(one) ? one : [one]).some(isObject));
  return new Set(plain.map(([key]) => fieldOf(key)).filter((name) => name !== undefined)).size;
}

/** The most fields that one object in a value names; 0 where it holds no object. */
function mostFields(value: unknown): number {
  if (Array.isArray(value)) return Math.max(0, ...value.map(mostFields));
  if (!isObject(value)) return 0;
  return Math.max(ownFields(value), ...Object.values(value).map(mostFields));
}

/** An object whose fields hold lists stands for as many objects as they are long. */
function columnsOf(value: Fields): Fields[] {
  const lists = Object.entries(value).filter(([, one]) => isTextList(one)) as [string, string[]][];
  const leading = lists.find(([key]) => fieldOf(key) === 'expected_claim') ?? lists.find(([key]) => fieldOf(key) === 'target_entity');
  // One claim about several entities is one claim.
  const isOne = Object.entries(value).some(([key, one]) => fieldOf(key) === 'expected_claim' && !isTextList(one));
  if (isOne || !leading || leading[1].length < 2) return [value];
  const { length } = leading[1];
  return leading[1].map((_, at) =>
    Object.fromEntries(Object.entries(value).map(([key, one]) => [key, isTextList(one) && one.length === length ? one[at] : one])),
  );
}

/** The claim that an object is; none where it names neither a claim nor an entity, repeats the prompt, is a schema, or was cut off. */
function claimOf(value: Fields, cut: boolean): Said[] {
  const said = { target_entity: '', expected_target: '', role: '', answer_type: '', expected_claim: '' };
  const present = new Set<ClaimField>();
  if (SCHEMA_TYPES.has(String(value.type)) && !FIELDS.some((name) => name in value)) return [];
  const keys = Object.keys(value).map((key) => [nameOf(key), key] as const);
  for (const name of FIELDS) {
    for (const synonym of SYNONYMS[name]) {
      const key = keys.find(([one]) => one === synonym)?.[1];
      if (key === undefined) continue;
      present.add(name);
      const text = plainText(textOf(value[key]));
      if (text !== '' && (name === 'role' || name === 'target_entity' || !isPlaceholder(text))) said[name] = text;
      break;
    }
  }
  if (isPlaceholder(said.target_entity) && !isNamed(said.target_entity, said.expected_claim)) said.target_entity = '';
  if (cut && present.size < FIELDS.length) return [];
  if (said.expected_claim === '') {
    const parts = new Set([said.target_entity, said.expected_target].filter((one) => one !== ''));
    said.expected_claim = [...parts].join(': ');
  }
  if (!hasWord(said.expected_claim) || (said.target_entity === '' && !present.has('expected_claim'))) return [];
  return [said];
}

/** Types of JSON schema: what stands at `type` in a schema that is repeated instead of followed. */
const SCHEMA_TYPES = new Set(['string', 'object', 'array', 'number', 'integer', 'boolean', 'null']);

/** A plain string in place of an object is an entity where it is short, and in any case what has to be found. */
function claimOfWords(text: string): Said[] {
  const folded = plainText(text);
  if (!hasWord(folded) || isPlaceholder(folded)) return [];
  const isName = folded.split(' ').length <= 5 && !/[.?!]$/.test(folded);
  return [{ target_entity: isName ? folded : '', expected_target: '', role: '', answer_type: '', expected_claim: folded }];
}

/** Roles by the word that the model chose; another word, or none, is the last claim's answer and the others' bridge. */
function withRoles(said: readonly Said[]): SaidClaim[] {
  return said.map((one, at) => ({
    ...claimFields(one),
    role: roleOf(one.role) ?? (at === said.length - 1 ? 'answer_node' : 'bridge_title'),
  }));
}

function roleOf(word: string): SaidClaim['role'] | undefined {
  if (/bridge/i.test(word)) return 'bridge_title';
  if (/intermediate/i.test(word)) return 'intermediate';
  return /answer|final/i.test(word) ? 'answer_node' : undefined;
}

function claimFields({ target_entity, expected_target, answer_type, expected_claim }: Said): Omit<SaidClaim, 'role'> {
  return { page: target_entity, expected_target, answer_type, expected_claim };
}

function isCutOff(values: readonly unknown[], unclosed: ReadonlySet<object>): boolean {
  return unclosed.has(values.at(-1) as object);
}

type Fields = { readonly [key: string]: unknown };

function isObject(value: unknown): value is Fields {
  return value !== null && typeof value === 'object' && !Array.isArray(value);
}

function isTextList(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string');
}

function fieldOf(key: string): ClaimField | undefined {
  return FIELDS.find((name) => SYNONYMS[name].includes(nameOf(key)));
}

function nameOf(key: string): string {
  return key.toLowerCase().replace(/[^a-z]/g, '');
}

/** Any value as text: a list joined, an object by its first text. */
function textOf(value: unknown): string {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  if (Array.isArray(value))
    return value
      .map(textOf)
      .filter((one) => one !== '')
      .join(', ');
  if (isObject(value))
    return (
      Object.values(value)
        .map(textOf)
        .find((one) => one !== '') ?? ''
    );
  return '';
}

function plainText(text: string): string {
  return foldSpace(text.toWellFormed());
}

function hasWord(text: string): boolean {
  return /[\p{L}\p{N}]/u.test(text);
}

/** The prompt's own words in place of a value, or none. */
const PLACEHOLDERS = new Set(
  [...FIELDS, ...CLAIM_ROLES, ...Object.values(CLAIM_FIELDS), 'string', 'text', 'null', 'none', 'n/a', 'unknown'].map((one) =>
    one.toLowerCase(),
  ),
);

function isPlaceholder(text: string): boolean {
  const word = text
    .toLowerCase()
    .replace(/^[<[{(]+|[>\]})]+$/g, '')
    .trim();
  return !hasWord(word) || PLACEHOLDERS.has(word) || PLACEHOLDERS.has(word.replace(/[\s-]+/g, '_')) || /^<[^<>]*>$/.test(text);
}

function isNoValue(name: ClaimField, said: Said): boolean {
  if (name === 'role' || !isPlaceholder(said[name])) return false;
  return name !== 'target_entity' || !isNamed(said.target_entity, said.expected_claim);
}

/** Pages may be called Text, Unknown or None: a claim that names such a page, with its capital, means it. */
function isNamed(entity: string, claim: string): boolean {
  return /^\p{Lu}/u.test(entity) && ` ${claim} `.split(/[^\p{L}\p{N}/]+/u).includes(entity);
}

/** The first sentence of a reply without fences, brackets and quotes, at most its first line that has a word; '' where none has. */
function firstSentence(text: string): string {
  const prose = text
    .replace(/```[a-z]*/gi, ' ')
    .replace(/["`]+/g, '')
    .replace(/[[\]{}]+/g, ' ');
  const line = foldSpace(prose.split('\n').find(hasWord) ?? '');
  return foldSpace(splitSentences(line).find(hasWord) ?? line);
}
