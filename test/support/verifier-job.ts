import { join } from 'node:path';
import { type PlanOptions, type Planned, planVerifier } from '../../train/index.js';
import type { ClaimForm } from '../../src/core/labels.js';
import { readPairRows } from '../../src/core/pair-rows.js';
import { temporaryFolder } from './files.js';
import { labelFolder, twoWikiFile } from './label-folder.js';
import { smallTokenizer } from './small-tokenizer.js';

export interface JobOptions extends Partial<Omit<PlanOptions, 'settings'>> {
  settings?: Partial<PlanOptions['settings']>;
  /** Questions of the built-in data whose rows are planned. Default 12. */
  questions?: number;
  forms?: ClaimForm[];
}

export interface TestJob extends Planned {
  dir: string;
  labels: string;
}

/** Folders of label rows that are made already. */
const made = new Map<string, Promise<string>>();

function labelRows(questions: number, forms: ClaimForm[]): Promise<string> {
  const key = JSON.stringify([questions, forms]);
  const known = made.get(key) ?? twoWikiFile(questions).then(async (file) => (await labelFolder(file, { forms })).folder);
  made.set(key, known);
  return known;
}

/** A planned job on built-in label rows; by default with a small tokenizer, whose rows are long. */
export async function verifierJob({
  questions = 12,
  forms = ['sentence', 'masked'],
  settings,
  ...options
}: JobOptions = {}): Promise<TestJob> {
  const labels = await labelRows(questions, forms);
  const dir = options.out ?? join(await temporaryFolder(), 'job');
  const tokenizer = options.tokenizer ?? (settings?.base === undefined ? await smallTokenizer() : undefined);
  const planned = await planVerifier(await readPairRows([labels]), {
    ...options,
    out: dir,
    tokenizer,
    settings: { base: 'a/small-model', seed: 13, max_length: 4096, max_steps: 8, ...settings },
  });
  return { ...planned, dir, labels };
}
