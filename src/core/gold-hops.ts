import type { HopRecord } from './records.js';
import { foldCase, foldSpace, normaliseTitle } from './text.js';

export interface SentencePlace {
  page: number;
  sentence: number;
}

/** One gold hop: what a claim is built from and what covers it. */
export interface GoldHop {
  /** Title of the supporting page as it stands in the pool. */
  title: string;
  /** The page of the first gold sentence, or the supporting paragraph. */
  page: number;
  /** Sentences that are evidence for the hop, in order. Empty when a MuSiQue hop's answer stands in no single sentence of its paragraph. */
  gold: SentencePlace[];
  /** MuSiQue: the sub-question with its references filled in and ` >> ` read as a space; else null. */
  subquestion: string | null;
}

export interface GoldHops {
  hops: GoldHop[];
  /** Normalised titles named by supporting facts that no page of the pool has. */
  missingTitles: string[];
  /** MuSiQue: steps of the decomposition, one-based, whose supporting paragraph is not named or not in the pool. */
  missingSteps: number[];
  /** Supporting facts whose sentence is past the end of their page. */
  dangling: number;
  /** HotpotQA, 2Wiki: titles of which no fact resolves; MuSiQue: the missing steps. They yield no claim. */
  withoutEvidence: number;
}

/**
 * The gold hops of a record (method.md §2): one for each distinct supporting title, in the order of the facts, or one for each step of a
 * MuSiQue decomposition. The record's answer is not read.
 *
 * @param covering MuSiQue only: `answer` takes the sentences of the supporting paragraph that contain the hop's answer (case-folded),
 *   `paragraph` takes all of them.
 */
export function goldHops(record: HopRecord, covering: 'answer' | 'paragraph' = 'answer'): GoldHops {
  return record.decomposition.length > 0 ? decomposed(record, covering) : supported(record);
}

function supported(record: HopRecord): GoldHops {
  const byTitle = new Map<string, GoldHop | null>();
  const missing = new Set<string>();
  let dangling = 0;
  for (const fact of record.supporting) {
    const title = normaliseTitle(fact.title);
    if (fact.page === null) {
      missing.add(title);
      continue;
    }
    const page = record.pages[fact.page] as HopRecord['pages'][number];
    if (fact.sentence < 0 || fact.sentence >= page.sentences.length) {
      dangling++;
      if (!byTitle.has(title)) byTitle.set(title, null);
      continue;
    }
    let hop = byTitle.get(title);
    if (!hop) {
      hop = { title: page.title, page: fact.page, gold: [], subquestion: null };
      byTitle.set(title, hop);
    }
    const known = hop.gold.some((one) => one.page === fact.page && one.sentence === fact.sentence);
    if (!known) hop.gold.push({ page: fact.page, sentence: fact.sentence });
  }
  const hops = [...byTitle.values()].filter((hop) => hop !== null);
  for (const hop of hops) hop.gold.sort((a, b) => a.page - b.page || a.sentence - b.sentence);
  return { hops, missingTitles: [...missing], missingSteps: [], dangling, withoutEvidence: byTitle.size - hops.length };
}

function decomposed(record: HopRecord, covering: 'answer' | 'paragraph'): GoldHops {
  const hops: GoldHop[] = [];
  const missingSteps: number[] = [];
  for (const [at, step] of record.decomposition.entries()) {
    const page = step.page === null ? undefined : record.pages[step.page];
    if (step.page === null || !page) {
      missingSteps.push(at + 1);
      continue;
    }
    const answer = foldCase(foldSpace(step.answer));
    const gold: SentencePlace[] = [];
    for (const [sentence, content] of page.sentences.entries()) {
      if (content.trim() === '') continue;
      const contains = answer !== '' && foldCase(foldSpace(content)).includes(answer);
      if (covering === 'paragraph' || contains) gold.push({ page: step.page, sentence });
    }
    hops.push({ title: page.title, page: step.page, gold, subquestion: filledSubquestion(record, step.question) });
  }
  return { hops, missingTitles: [], missingSteps, dangling: 0, withoutEvidence: missingSteps.length };
}

/**
 * What of a question's gold evidence the pool does not have, in words; null where all is there. Such a question can never be covered: it has no
 * claims and no label rows unless `--allow-missing-gold`, and the hops that are there never stand for all of them.
 */
export function missingGold({ missingTitles, missingSteps }: Pick<GoldHops, 'missingTitles' | 'missingSteps'>): string | null {
  if (missingTitles.length > 0) return `no page of the pool has the title ${missingTitles.map((one) => JSON.stringify(one)).join(', ')}`;
  if (missingSteps.length === 0) return null;
  const steps = missingSteps.length === 1 ? 'step' : 'steps';
  return `no paragraph of the pool supports ${steps} ${missingSteps.join(', ')} of the decomposition`;
}

/** `#2` in a sub-question stands for the answer of step 2. A reference to a step that does not exist stays as it is. */
function filledSubquestion(record: HopRecord, question: string): string {
  const filled = question.replace(/#(\d+)/g, (whole, number: string) => record.decomposition[Number(number) - 1]?.answer ?? whole);
  return foldSpace(filled.replaceAll(' >> ', ' '));
}
