import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { knowledge } from '../../datasets/builtin/knowledge.js';
import { makeBuiltinData, writeBuiltinData } from '../../datasets/builtin/index.js';
import { makePage } from '../../datasets/builtin/pages.js';
import { contains, reveals } from '../../datasets/builtin/questions.js';
import { openRecords, recordFaults } from '../../datasets/index.js';
import { readFollowUps } from '../../src/agents/index.js';
import { normaliseSentence } from '../../src/core/text.js';
import { temporaryFolder } from '../support/files.js';

const data = makeBuiltinData({ seed: 13 });
const known = knowledge();
const sets = ['hotpotqa', '2wiki', 'musique'] as const;

/** The parts that the three formats share: question, answer, pages, the gold sentences of each gold page. */
interface Plain {
  id: string;
  question: string;
  answer: string;
  pages: { title: string; sentences: string[] }[];
  gold: { page: number; sentence: string }[];
}

const plain: { [set in (typeof sets)[number]]: Plain[] } = {
  hotpotqa: data.hotpotqa.records.map(fromFacts),
  '2wiki': data['2wiki'].records.map(fromFacts),
  musique: data.musique.records.map((record) => {
    // The paragraph is its page's sentences joined by spaces, so the page itself says where they part.
    const pages = record.paragraphs.map(({ title, paragraph_text }) => {
      const page = makePage(known.get(title) as never, 13);
      const sentences = page.sentences.map(({ text }) => text);
      assert.equal(paragraph_text, sentences.join(' '));
      return { title, sentences };
    });
    const gold = record.question_decomposition.map(({ answer, paragraph_support_idx: page }) => ({
      page,
      sentence: pages[page]?.sentences.find((sentence) => contains(sentence, answer)) as string,
    }));
    return { id: record.id, question: record.question, answer: record.answer, pages, gold };
  }),
};

test('each dataset has 60 questions or more, of two to four hops, in pools of the official sizes', () => {
  for (const set of sets) {
    assert.ok(plain[set].length >= 60, `${set}: ${plain[set].length}`);
    for (const { id, pages, gold } of plain[set]) {
      assert.equal(pages.length, set === 'musique' ? 20 : 10, id);
      const hops = new Set(gold.map(({ page }) => page)).size;
      assert.ok(hops >= 2 && hops <= 4, `${id}: ${hops} gold pages`);
      assert.equal(new Set(pages.map(({ title }) => title)).size, pages.length, id);
    }
  }
});

test('every type of question of the official files is there', () => {
  assert.deepEqual([...new Set(data.hotpotqa.records.map(({ type }) => type))].toSorted(), ['bridge', 'comparison']);
  assert.deepEqual([...new Set(data['2wiki'].records.map(({ type }) => type))].toSorted(), [
    'bridge_comparison',
    'comparison',
    'compositional',
    'inference',
  ]);
  assert.deepEqual([...new Set(data.musique.records.map(({ id }) => id.replace(/__.*/u, '')))].toSorted(), ['2hop', '3hop1', '4hop1']);
});

test('ids and questions are unique', () => {
  for (const set of sets) {
    for (const key of ['id', 'question'] as const)
      assert.equal(new Set(plain[set].map((record) => record[key])).size, plain[set].length, `${set} ${key}`);
  }
});

test('every gold sentence exists, and no sentence of a distractor has its text', () => {
  for (const { id, pages, gold } of sets.flatMap((set) => plain[set])) {
    const goldPages = new Set(gold.map(({ page }) => page));
    for (const { sentence } of gold) assert.ok(typeof sentence === 'string' && sentence.trim() !== '', id);
    const texts = new Set(gold.map(({ sentence }) => normaliseSentence(sentence)));
    for (const [at, page] of pages.entries()) {
      if (goldPages.has(at)) continue;
      for (const sentence of page.sentences) assert.ok(!texts.has(normaliseSentence(sentence)), `${id}: ${page.title}: ${sentence}`);
    }
  }
});

test('no distractor gives a hop away: none names both the subject and the answer of an evidence triple', () => {
  for (const record of data['2wiki'].records) {
    const golds = new Set(record.supporting_facts.map(([title]) => title));
    for (const [title, sentences] of record.context.filter(([one]) => !golds.has(one))) {
      for (const sentence of sentences) {
        for (const [subject, , answer] of record.evidences) {
          const hop = { subject: known.get(subject) as never, relation: 'director' as const, answer };
          assert.ok(!reveals(`${title} ${sentence}`, hop), `${record._id}: ${title}: ${sentence}`);
        }
      }
    }
  }
});

test('the answer stands in the last supporting sentence and not in the question, but for comparisons', () => {
  for (const set of sets) {
    const compared = new Set(
      set === 'musique' ? [] : data[set].records.filter(({ type }) => type.includes('comparison')).map(({ _id }) => _id),
    );
    for (const { id, question, answer, gold } of plain[set].filter((record) => !compared.has(record.id))) {
      assert.ok(contains(gold.at(-1)?.sentence as string, answer), `${id}: ${answer}`);
      assert.ok(!contains(question, answer), `${id}: ${question}`);
    }
  }
});

test('the answer of a comparison is one of the two things, or yes or no, and both yes and no occur', () => {
  const answers: string[] = [];
  for (const set of ['hotpotqa', '2wiki'] as const) {
    for (const record of data[set].records.filter(({ type }) => type.includes('comparison'))) {
      answers.push(record.answer);
      assert.ok(['yes', 'no'].includes(record.answer) || contains(record.question, record.answer), record.question);
    }
  }
  const count = (answer: string): number => answers.filter((one) => one === answer).length;
  assert.ok(count('yes') >= 5 && count('no') >= 5, `yes ${count('yes')}, no ${count('no')}`);
});

test('gold pages have sentences that are not gold, for the label between match and null', () => {
  for (const set of sets) {
    const shares = plain[set].map(({ pages, gold }) =>
      pages.some((page, at) => gold.some((one) => one.page === at) && page.sentences.length > 2),
    );
    assert.equal(shares.filter(Boolean).length, shares.length, set);
  }
});

test('supporting sentences are often not the first one of their page', () => {
  const facts = [...data.hotpotqa.records, ...data['2wiki'].records].flatMap(({ supporting_facts }) => supporting_facts);
  const later = facts.filter(([, sentence]) => sentence > 0).length / facts.length;
  assert.ok(later > 0.3 && later < 0.8, `${later}`);
});

test('a page has the same text wherever it stands', () => {
  const texts = new Map<string, string>();
  for (const { pages } of sets.flatMap((set) => plain[set])) {
    for (const { title, sentences } of pages) {
      const text = sentences.map((sentence) => sentence.trim()).join(' ');
      assert.equal(texts.get(title) ?? text, text);
      texts.set(title, text);
    }
  }
});

test('2Wiki evidences: one triple a supporting fact, of its page, in the order of the hops', () => {
  for (const { _id, evidences, supporting_facts, type } of data['2wiki'].records) {
    assert.deepEqual(
      evidences.map(([subject]) => subject),
      supporting_facts.map(([title]) => title),
      _id,
    );
    assert.equal(evidences.length, type === 'bridge_comparison' ? 4 : 2, _id);
  }
});

test("P10: MuSiQue decompositions: ids are no positions, references point back, each hop's answer stands in its paragraph", () => {
  const styles = { arrow: 0, asked: 0 };
  for (const { id, paragraphs, question_decomposition: steps, answer } of data.musique.records) {
    assert.equal(id, `${steps.length === 2 ? '2hop' : `${steps.length}hop1`}__${steps.map((step) => step.id).join('_')}`);
    assert.equal(steps.at(-1)?.answer, answer);
    for (const [at, step] of steps.entries()) {
      const paragraph = paragraphs[step.paragraph_support_idx];
      assert.equal(paragraph?.idx, step.paragraph_support_idx);
      assert.equal(paragraph.is_supporting, true);
      assert.ok(contains(paragraph.paragraph_text, step.answer), `${id}: ${step.answer}`);
      assert.ok(step.id >= 1000, id);
      const references = [...step.question.matchAll(/#(\d)/gu)].map((match) => Number(match[1]));
      assert.deepEqual(references, at === 0 ? [] : [at], `${id}: ${step.question}`);
      styles[step.question.includes(' >> ') ? 'arrow' : 'asked']++;
    }
    assert.equal(paragraphs.filter((paragraph) => paragraph.is_supporting).length, steps.length, id);
  }
  assert.ok(styles.arrow > 50 && styles.asked > 50, JSON.stringify(styles));
});

test('follow-ups: four to six for each question in the order of the questions, some of them repeated or about something else', () => {
  for (const set of sets) {
    const rows = data[set].followups;
    assert.deepEqual(
      rows.map((row) => row.question_id),
      plain[set].map(({ id }) => id),
    );
    for (const row of rows) {
      assert.equal(row.dataset, set);
      assert.equal(row.source, 'builtin');
      assert.ok(
        row.followups.length >= 4 && row.followups.length <= 6 && row.followups.every((text) => text.trim() !== ''),
        row.question_id,
      );
    }
  }
});

test('the same seed writes byte-identical files, another seed others', async () => {
  const read = async (seed: number): Promise<Map<string, string>> => {
    const dir = join(await temporaryFolder(), 'new', 'folder');
    const paths = await writeBuiltinData(dir, { seed });
    assert.equal(paths.musique.followups, join(dir, 'followups_musique.jsonl'));
    const names = (await readdir(dir)).toSorted();
    return new Map(
      await Promise.all(names.map(async (name): Promise<[string, string]> => [name, await readFile(join(dir, name), 'utf8')])),
    );
  };
  const [first, again, other] = [await read(13), await read(13), await read(14)];
  assert.deepEqual(
    [...first.keys()],
    [
      '2wiki.json',
      '2wiki_test.json',
      '2wiki_train.json',
      'followups_2wiki.jsonl',
      'followups_hotpotqa.jsonl',
      'followups_musique.jsonl',
      'hotpotqa.json',
      'hotpotqa_test.json',
      'hotpotqa_train.json',
      'musique.jsonl',
      'musique_test.jsonl',
      'musique_train.jsonl',
    ],
  );
  // The two halves are the whole, in its order, and the one for testing has its 60 questions.
  for (const set of ['hotpotqa', '2wiki'] as const) {
    const rows = (name: string): unknown[] => JSON.parse(first.get(name) as string) as unknown[];
    assert.deepEqual([...rows(`${set}_train.json`), ...rows(`${set}_test.json`)], rows(`${set}.json`));
    assert.ok(rows(`${set}_test.json`).length >= 60);
  }
  assert.equal((first.get('musique_train.jsonl') as string) + (first.get('musique_test.jsonl') as string), first.get('musique.jsonl'));
  assert.ok((first.get('musique_test.jsonl') as string).split('\n').length > 60);
  assert.deepEqual(first, again);
  for (const [name, text] of first) assert.notEqual(other.get(name), text, name);
});

test('the readers of the real files read the built-in ones: the dataset is found, nothing is quarantined, no fault but the format’s own', async () => {
  const paths = await writeBuiltinData(await temporaryFolder(), { seed: 13 });
  for (const set of sets) {
    const opened = await openRecords(paths[set].data);
    assert.equal(opened.dataset, set);
    const faults: { [kind: string]: number } = {};
    const ids: string[] = [];
    for await (const record of opened.records) {
      ids.push(record.question_id);
      for (const { kind } of recordFaults(record)) faults[kind] = (faults[kind] ?? 0) + 1;
    }
    assert.deepEqual(opened.quarantine.entries, []);
    assert.deepEqual(
      ids,
      plain[set].map(({ id }) => id),
    );
    // HotpotQA's official files put a space before every sentence but the first.
    assert.deepEqual(Object.keys(faults), set === 'hotpotqa' ? ['leading_space'] : [], `${set}: ${JSON.stringify(faults)}`);
    const followUps = await readFollowUps(paths[set].followups);
    assert.deepEqual([...followUps.byQuestion.keys()], ids);
    assert.deepEqual(followUps.sources, ['builtin']);
  }
});

test('a fact that is to lead on has a page: directors, authors, composers, painters, discoverers, museums and their cities', () => {
  const leads = ['director', 'author', 'composer', 'painter', 'discoverer', 'museum', 'architect', 'city'];
  for (const { title, kind, facts } of known.values()) {
    for (const relation of leads) {
      const value = facts[relation];
      if (value !== undefined) assert.ok(known.has(value), `${title}: ${relation} ${value} has no page`);
    }
    if (kind === 'city') assert.ok(known.get(facts['country'] as string)?.kind === 'country', title);
  }
});

test('dates are days or years, a death comes after a birth, and every page has three sentences or more', () => {
  for (const entity of known.values()) {
    const year = (relation: string): number => {
      const value = entity.facts[relation];
      if (value === undefined) return NaN;
      assert.match(value, /^(\d{1,2} \p{L}+ )?\d{4}$/u, `${entity.title}: ${relation}`);
      return Number(value.slice(-4));
    };
    const age = year('died') - year('born');
    assert.ok(Number.isNaN(age) || (age > 14 && age < 105), `${entity.title}: ${age}`);
    assert.ok(makePage(entity, 13).sentences.length >= 3, entity.title);
  }
});

test('two people who name each other as spouse, or a parent with a page, agree', () => {
  for (const entity of known.values()) {
    const spouse = known.get(entity.facts['spouse'] ?? '');
    if (spouse?.facts['spouse'] !== undefined) assert.equal(spouse.facts['spouse'], entity.title);
    for (const relation of ['father', 'mother']) {
      const parent = known.get(entity.facts[relation] ?? '');
      if (parent !== undefined) assert.equal(parent.pronoun, relation === 'father' ? 'he' : 'she', entity.title);
    }
  }
});

function fromFacts(record: {
  _id: string;
  question: string;
  answer: string;
  context: [string, string[]][];
  supporting_facts: [string, number][];
}): Plain {
  const pages = record.context.map(([title, sentences]) => ({ title, sentences }));
  const gold = record.supporting_facts.map(([title, sentence]) => {
    const page = pages.findIndex((one) => one.title === title);
    return { page, sentence: pages[page]?.sentences[sentence] as string };
  });
  return { id: record._id, question: record.question, answer: record.answer, pages, gold };
}
