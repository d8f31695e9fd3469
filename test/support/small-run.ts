import { join } from 'node:path';
import { embeddingTexts, writeEmbeddings } from '../../runtime/index.js';
import { runFolder } from '../../src/core/run-folder.js';
import { hopgateJson } from './cli.js';
import { temporaryFile, temporaryFolder } from './files.js';
import { hotpotqaQuestions } from './hotpotqa-file.js';
import { wordsEncoder } from './words-encoder.js';

/** A finished run of the invented questions `from` … `to` − 1 with gold claims, gold verdicts and embeddings named `words`. */
export async function smallRun(dataset: string, from: number, to: number): Promise<string> {
  const run = join(await temporaryFolder(), dataset);
  const file = await temporaryFile(`${dataset}.json`, JSON.stringify(hotpotqaQuestions(to).slice(from)));
  await hopgateJson(['trajectories', 'run', file, '--dataset', dataset, '--agent', 'chain', '--out', run]);
  await hopgateJson(['claims', 'build', run, '--source', 'gold']);
  await hopgateJson(['decide', run, '--decider', 'gold']);
  await embedWithWords(run, 'words');
  return run;
}

/** Embeddings of a run by the words encoder, under this name. */
export async function embedWithWords(run: string, name: string): Promise<void> {
  const texts = await embeddingTexts(run, { claimTexts: ['title', 'expected_claim'], evidenceTexts: ['title+sentence', 'sentence'] });
  await writeEmbeddings(texts, wordsEncoder(name), { dir: runFolder.embeddings(run, name), seed: 13 });
}
