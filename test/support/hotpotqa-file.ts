import { random } from '../../src/core/random.js';

/** Questions in HotpotQA's official form, made of drawn words: ten pages of three sentences, two of them gold. */
export function hotpotqaQuestions(n: number): { [field: string]: unknown }[] {
  return Array.from({ length: n }, (_, at) => {
    const draw = random(13, 'question', at);
    const phrase = (length: number): string => Array.from({ length }, () => WORDS[draw.int(WORDS.length)]).join(' ');
    const titles = Array.from({ length: 10 }, (__, page) => `${phrase(2)} ${page}`);
    return {
      _id: `q${at}`,
      question: `${phrase(9)}?`,
      answer: phrase(1),
      type: 'bridge',
      level: 'easy',
      context: titles.map((title) => [title, Array.from({ length: 3 }, () => `${phrase(12)}.`)]),
      supporting_facts: [
        [titles[draw.int(5)], draw.int(3)],
        [titles[5 + draw.int(5)], draw.int(3)],
      ],
    };
  });
}

const WORDS = Array.from({ length: 400 }, (_, at) => `w${at.toString(36)}`);
