import { join } from 'node:path';
import { hopgateJson } from './cli.js';
import { temporaryFolder } from './files.js';
import { repositoryRoot } from './root.js';

/** Kept between test runs: encoding the 13,000 sentences anew takes minutes, reading them back seconds. */
const env = { HOPGATE_HOME: join(repositoryRoot, '.cache', 'test') };

const MADE = [
  ['hotpotqa', 'hotpotqa_train_800.json', 'followups_hotpotqa.jsonl'],
  ['2wiki', '2wiki_train_500.json', 'followups_2wiki.jsonl'],
  ['musique-train', 'musique_train_100.jsonl', 'followups_musique.jsonl'],
  ['musique-dev', 'musique_dev_100.jsonl', 'followups_musique.jsonl'],
] as const;

/** Runs of the real samples with scripted follow-ups, gold and heuristic claims, the gold decider and MiniLM's embeddings. */
export async function realRuns(data: string): Promise<string[]> {
  const folder = await temporaryFolder();
  const runs: string[] = [];
  for (const [name, file, followUps] of MADE) {
    const run = join(folder, name);
    const agent = ['--agent', 'scripted', '--followups', join(data, followUps), '--budget', '6', '--top', '3'];
    await hopgateJson(['trajectories', 'run', join(data, file), ...agent, '--out', run]);
    for (const source of ['gold', 'heuristic']) await hopgateJson(['claims', 'build', run, '--source', source]);
    await hopgateJson(['decide', run, '--decider', 'gold']);
    const texts = ['--what', 'claims,evidence', '--claim-text', 'subquestion-or-title,expected_claim', '--evidence-text', 'title+sentence'];
    await hopgateJson(['embed', run, '--encoder', 'minilm', ...texts], { env });
    runs.push(run);
  }
  return runs;
}
