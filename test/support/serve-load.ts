import { type ChildProcess, spawn } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { random } from '../../src/core/random.js';
import { commandFile } from './cli.js';
import { ask } from './serving.js';

export interface ServeProcess {
  address: string;
  child: ChildProcess;
  /** Resident memory in MB; NaN where the system does not tell. */
  memory: () => Promise<number>;
}

/** `hopgate serve` in a process of its own, once it listens. */
export async function serveProcess(args: readonly string[], env: NodeJS.ProcessEnv): Promise<ServeProcess> {
  const child = spawn(process.execPath, [commandFile, 'serve', '--port', '0', '--rate', '0', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  const address = await new Promise<string>((resolve, reject) => {
    const heard = (text: string): void => {
      output += text;
      const found = /listening on (http:\S+)/.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.setEncoding('utf8').on('data', heard);
    child.stderr.setEncoding('utf8').on('data', heard);
    child.once('close', (code) => reject(new Error(`serve ended with ${code}: ${output}`)));
  });
  const memory = async (): Promise<number> => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024;
  };
  return { address, child, memory };
}

export async function ended({ child }: ServeProcess, signal: NodeJS.Signals): Promise<void> {
  const closed = new Promise((resolve) => child.once('close', resolve));
  child.kill(signal);
  await closed;
}

export interface LoadQuestion {
  session: string;
  question: string;
  /** Sentences of each search. */
  searches: string[][];
}

const NAMES = [
  'Anna Meier',
  'the Aare',
  'Bern',
  'the old bridge',
  'a composer',
  'the first film',
  'its director',
  'the town hall',
  'Lyon',
  'the lake',
];
const VERBS = ['was born near', 'was built beside', 'is older than', 'was named after', 'lies north of', 'was directed by', 'is known for'];

/**
 * Invented questions and evidence, the same for a seed.
 *
 * @param pool different sentences in all; popular documents are found again and again
 */
export function loadQuestions(count: number, { searches = 3, pool = 200 }: { searches?: number; pool?: number } = {}): LoadQuestion[] {
  return Array.from({ length: count }, (_, at) => {
    const draw = random(13, 'load', at);
    const pick = (from: readonly string[]): string => from[draw.int(from.length)] as string;
    return {
      session: `load-${at}`,
      question: `Where was ${pick(NAMES)} that ${pick(VERBS)} ${pick(NAMES)} born?`,
      searches: Array.from({ length: searches }, () => [sentence(draw.int(pool)), sentence(draw.int(pool))]),
    };
  });
}

function sentence(number: number): string {
  const draw = random(13, 'sentence', number);
  const pick = (from: readonly string[]): string => from[draw.int(from.length)] as string;
  return `${pick(NAMES)} ${pick(VERBS)} ${pick(NAMES)}, which is known since ${1700 + number}.`;
}

export interface LoadAnswer {
  session: string;
  margins: (number | null)[];
  covered: (boolean | null)[];
}

/** All questions at once; times of each observation in milliseconds. */
export async function runLoad(address: string, questions: readonly LoadQuestion[]): Promise<{ answers: LoadAnswer[]; times: number[] }> {
  const times: number[] = [];
  const one = async ({ session, question, searches }: LoadQuestion): Promise<LoadAnswer> => {
    const opened = await ask(address, 'POST', '/v1/sessions', { json: { session, question } });
    if (opened.status !== 201) throw new Error(`${session}: ${opened.text}`);
    const answer: LoadAnswer = { session, margins: [], covered: [] };
    for (const [at, evidence] of searches.entries()) {
      const from = performance.now();
      const { status, body, text } = await ask(address, 'POST', `/v1/sessions/${session}/observe`, { json: { evidence, step: at + 1 } });
      times.push(performance.now() - from);
      if (status !== 200 || body.session !== session) throw new Error(`${session}: ${text}`);
      answer.margins.push(body.margin as number | null);
      answer.covered.push(body.covered as boolean | null);
      if (body.stopped_by !== null) break;
    }
    return answer;
  };
  return { answers: await Promise.all(questions.map(one)), times };
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] as number;
}
