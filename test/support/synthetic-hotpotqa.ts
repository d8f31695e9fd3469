import { open } from 'node:fs/promises';
import { random } from '../../src/core/random.js';

export interface SyntheticOptions {
  /** Stop after this many questions. */
  questions?: number;
  /** Stop once the file has at least this many bytes. */
  bytes?: number;
  /** Default 13. */
  seed?: number;
}

const NOUNS = 'river bridge tower museum harbour mill valley academy theatre station castle garden library market chapel island'.split(' ');
const VERBS = 'crosses opened closed joined left built sold named visited crossed painted founded moved kept won lost'.split(' ');
const OTHERS =
  'the old north first town small early large former year well known stone local public later second with from near after'.split(' ');
const PAGES = 10;
const SENTENCE_STOCK = 4096;

/**
 * Writes an invented file in HotpotQA's official form: ten pages of two to six sentences a question, two of them gold with one or two
 * supporting facts. About 6.5 KB a question, as in the real training file; every title and so every sentence is unique. Returns the
 * number of questions and bytes.
 */
export async function writeSyntheticHotpotqa(file: string, options: SyntheticOptions): Promise<{ questions: number; bytes: number }> {
  const { questions: wanted = Infinity, bytes: wantedBytes = Infinity, seed = 13 } = options;
  const stream = random(seed, 'synthetic hotpotqa');
  const word = (list: readonly string[]): string => list[stream.int(list.length)] as string;
  const stock = Array.from({ length: SENTENCE_STOCK }, () => {
    const middle = Array.from({ length: 12 + stream.int(16) }, () => word(OTHERS)).join(' ');
    return `${word(VERBS)} ${middle} the ${word(NOUNS)} in ${1700 + stream.int(320)}.`;
  });
  const handle = await open(file, 'w');
  let [questions, bytes] = [0, 0];
  let buffered = '[';
  const flush = async (): Promise<void> => {
    // Everything is ASCII, so length is size.
    bytes += buffered.length;
    await handle.write(buffered);
    buffered = '';
  };
  try {
    while (questions < wanted && bytes + buffered.length < wantedBytes) {
      const pages = Array.from({ length: PAGES }, (_, page) => {
        const title = `${word(NOUNS)} ${questions}-${page}`;
        const sentences = Array.from(
          { length: 2 + stream.int(5) },
          (__, at) => `${at === 0 ? '' : ' '}The ${title} ${stock[stream.int(SENTENCE_STOCK)]}`,
        );
        return { title, sentences };
      });
      const gold = stream.sample(pages, 2);
      const facts = gold.flatMap(({ title, sentences }) =>
        stream.sample([...sentences.keys()], 1 + stream.int(2)).map((sentence) => `["${title}", ${sentence}]`),
      );
      const context = pages.map(({ title, sentences }) => `["${title}", ["${sentences.join('", "')}"]]`).join(', ');
      const question = `What did the ${gold[0]?.title} have to do with the ${gold[1]?.title}?`;
      buffered += `${questions === 0 ? '' : ', '}{"_id": "synthetic-${questions}", "answer": "${word(NOUNS)}", "question": "${question}", `;
      buffered += `"supporting_facts": [${facts.join(', ')}], "context": [${context}], "type": "bridge", "level": "hard"}`;
      questions++;
      if (buffered.length > 1 << 20) await flush();
    }
    buffered += ']\n';
    await flush();
  } finally {
    await handle.close();
  }
  return { questions, bytes };
}
