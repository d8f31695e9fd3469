import assert from 'node:assert/strict';
import { cp, readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { openVerdicts, openVerifier, scoreNaive, verifierFieldsOf } from '../../runtime/index.js';
import { type Claim, claimColumns } from '../../src/core/claims.js';
import { readManifest } from '../../src/core/manifest.js';
import { runFolder } from '../../src/core/run-folder.js';
import { readRunQuestions } from '../../src/core/run-questions.js';
import { collect, readTable } from '../../src/core/tables.js';
import { hopgate, hopgateJson } from '../support/cli.js';
import { temporaryFile, temporaryFolder } from '../support/files.js';
import { hotpotqaQuestions } from '../support/hotpotqa-file.js';
import { verifierFolderOf } from '../support/verifier-folder.js';

let model: string;
let run: string;

async function runOf(from: number, to: number): Promise<string> {
  const folder = join(await temporaryFolder(), 'run');
  const file = await temporaryFile('small.json', JSON.stringify(hotpotqaQuestions(to).slice(from)));
  await hopgateJson(['trajectories', 'run', file, '--agent', 'chain', '--budget', '2', '--out', folder]);
  await hopgateJson(['claims', 'build', folder, '--source', 'gold']);
  return folder;
}

before(async () => {
  [model, run] = await Promise.all([verifierFolderOf(), runOf(0, 3)]);
});

const decide = (folder: string, ...more: string[]): string[] => [
  'decide',
  folder,
  '--decider',
  'verifier',
  '--model',
  model,
  '--claims',
  'gold',
  '--provider',
  'cpu',
  '--threads',
  '1',
  ...more,
];

test('verdicts of an imported verifier stand beside the run: the plain way’s labels, the model in their identity, what was read in their counts', async () => {
  const [a, b] = [await temporaryFolder(), await temporaryFolder()];
  const result = await hopgateJson(decide(run, '--all-pairs', '--out', a));
  await hopgateJson(decide(run, '--all-pairs', '--out', b));
  for (const name of await readdir(a)) assert.ok((await readFile(join(a, name))).equals(await readFile(join(b, name))), name);
  const { details, questions } = await openVerdicts(a);
  const manifest = await readManifest(model, 'verifier');
  const graph = manifest.outputs.find((one) => one.name.endsWith('.onnx'));
  assert.deepEqual(
    [details.claims, details.scan.allPairs, details.decider],
    [
      'gold',
      true,
      {
        decider: 'verifier',
        base: 'tiny',
        model_sha256: graph?.sha256,
        variant: 'fp32',
        template_sha256: manifest.details.template_sha256,
        prompt_sha256: manifest.details.prompt_sha256,
        tokenizer_sha256: manifest.details.tokenizer_sha256,
        label_ids: manifest.details.label_ids,
        max_length: 512,
      },
    ],
  );
  const folder = runFolder.claims(run, 'gold');
  const claims: Claim[] = await collect(readTable(folder, await readManifest(folder, 'claims'), 'claims', claimColumns));
  const byRow = new Map((await collect(readRunQuestions(run))).map(({ trajectory }) => [trajectory.row, trajectory]));
  const verifier = await openVerifier(model, { provider: 'cpu', threads: 1 });
  let pairs = 0;
  let worst = 0;
  for (const { question, rows } of await collect(questions())) {
    const sentences = byRow.get(question.row)?.loops.flatMap((loop) => loop.sentences) ?? [];
    const prompts = rows.map((row) => {
      const claim = claims.find((one) => one.row === row.row && one.claim === row.claim) as Claim;
      const sentence = sentences.find((one) => one.page === row.page && one.sentence === row.sentence);
      return verifier.tokens.prompt(verifierFieldsOf(claim, sentence as (typeof sentences)[number])).ids;
    });
    const naive = await scoreNaive(verifier.graph, prompts, { labels: verifier.tokens.labelIds, padId: 0, batch: 8 });
    for (const [at, row] of rows.entries())
      for (const name of ['lp_match', 'lp_partial', 'lp_null'] as const)
        worst = Math.max(worst, Math.abs((row[name] as number) - (naive[at]?.[name] as number)));
    pairs += rows.length;
  }
  await verifier.close();
  assert.ok(pairs > 10 && worst <= 1e-5, `${pairs} pairs, ${worst}`);
  const counts = result.counts as { pairs: number; system_tokens_read: number; read: { [name: string]: number } };
  assert.deepEqual([counts.pairs, counts.read.pairs], [pairs, pairs]);
  assert.ok(counts.system_tokens_read > 0);
  assert.ok((counts.read.tokens_read as number) < (counts.read.tokens_three_passes as number) / 4);
});

test('claims that were not built for the run are refused, whichever decider reads them', async () => {
  const other = await runOf(3, 5);
  await cp(runFolder.claims(other, 'gold'), runFolder.claims(run, 'other'), { recursive: true });
  for (const decider of ['small', 'verifier']) {
    const ran = await hopgate(['decide', run, '--decider', decider, '--model', model, '--claims', 'other']);
    assert.deepEqual(
      [ran.code, ran.stderr],
      [
        2,
        `hopgate: ${runFolder.claims(run, 'other')}: claims of another run: built neither from this run's records nor from its source file; ` +
          `build them again with "hopgate claims build ${run} --source gold --force"\n`,
      ],
    );
  }
});

test('bad usage is exit 2 with one message', async () => {
  const models = await temporaryFolder();
  const cases: [string[], string][] = [
    [
      ['decide', run, '--decider', 'verifier', '--claims', 'gold'],
      '--model: expected the folder or name of a verifier for --decider verifier',
    ],
    [
      ['decide', run, '--decider', 'verifier', '--model', model],
      '--claims: expected the name of claims in RUN/claims for --decider verifier',
    ],
    [['decide', run, '--decider', 'gold', '--server', 'http://x'], '--server: of no use with --decider gold'],
    [
      ['decide', run, '--decider', 'verifier', '--claims', 'gold', '--model', 'mine', '--model-dir', models],
      `--model: got "mine", expected a verifier's folder or a name in ${join(models, 'verifiers')}`,
    ],
    [decide(run, '--server', 'http://x'), '--provider: of no use with --server'],
    [decide(run, '--timeout', '3'), '--timeout: of no use without --server'],
    [decide(run, '--variant', 'int4'), `${model}: --variant: got "int4", expected one of fp32`],
    [
      [
        'decide',
        run,
        '--decider',
        'verifier',
        '--claims',
        'gold',
        '--model',
        model,
        '--server',
        'http://x',
        '--server-model',
        'm',
        '--api-key-env',
        'NOT_THERE',
      ],
      '--api-key-env: got "NOT_THERE", which the environment does not have',
    ],
  ];
  await Promise.all(
    cases.map(async ([args, message]) => {
      const ran = await hopgate(args);
      assert.deepEqual([ran.code, ran.stderr], [2, `hopgate: ${message}\n`], args.join(' '));
    }),
  );
});
