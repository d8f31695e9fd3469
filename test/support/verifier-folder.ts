import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { openVerifierGraph, scoreNaive } from '../../runtime/index.js';
import { sha256 } from '../../src/core/hash.js';
import { LABELS } from '../../src/core/labels.js';
import { openOutputFolder } from '../../src/core/output-folder.js';
import type { VerifierFields } from '../../src/core/verifier-fields.js';
import type { VerifierModelDetails } from '../../src/core/verifier-model.js';
import { openVerifierTokens, tokenizerFolder } from '../../src/prompts/index.js';
import { temporaryFolder } from './files.js';
import { type TinyVerifierShape, architectureOf, tinyVerifierOnnx } from './tiny-verifier.js';

const MAX_LENGTH = 512;
const TOKENIZER_FILES = ['tokenizer.json', 'tokenizer_config.json'] as const;
const GRAPH = 'onnx/fp32/model.onnx';

/** Qwen2.5's vocabulary over almost no model. */
export const SHAPE: TinyVerifierShape = { vocabulary: 151_936, layers: 2, heads: 2, kvHeads: 1, headDim: 8, inner: 24 };

/** Pairs of two questions, with two claims and three sentences each. */
export function somePairs(): VerifierFields[] {
  return ['Which river runs through the town?', 'Who built the old bridge?'].flatMap((question, at) =>
    ['The town lies on the Aare.', 'The bridge was built by Anna Meier in 1923.'].flatMap((claim, which) =>
      ['It lies north of the lake.', `The ${at}${which} composer was born there, in 1801.`, 'Its name is older than the town.'].map(
        (sentence): VerifierFields => ({
          question,
          answer_candidate: `Page ${which}`,
          expected_claim: claim,
          expected_page: `Page ${at}.${which}`,
          expected_target: `Page ${which}`,
          expected_target_role: which === 0 ? 'bridge_title' : 'answer_node',
          evidence_page: `Page ${at}.0`,
          evidence_sentence: sentence,
        }),
      ),
    ),
  );
}

/** A finished folder of kind `verifier`: random weights, the real tokenizer of Qwen2.5, golden rows scored the plain way. */
export async function verifierFolderOf(options: { seed?: number; details?: Partial<VerifierModelDetails> } = {}): Promise<string> {
  const dir = join(await temporaryFolder(), 'verifier');
  const source = await tokenizerFolder('Qwen/Qwen2.5-3B-Instruct');
  const tokens = await openVerifierTokens(source, { maxLength: MAX_LENGTH });
  const out = await openOutputFolder({ dir, kind: 'verifier', command: 'verifier import', options: {}, seed: 13, inputs: [] });
  const bytes = tinyVerifierOnnx(SHAPE, { seed: options.seed ?? 13 });
  await out.file(GRAPH, bytes);
  for (const name of TOKENIZER_FILES) await out.file(`tokenizer/${name}`, await readFile(join(source, name)));
  const scratch = join(await temporaryFolder(), 'model.onnx');
  await writeFile(scratch, bytes);
  const graph = await openVerifierGraph(scratch, { architecture: architectureOf(SHAPE), provider: 'cpu', threads: 1 });
  const pairs = somePairs().slice(0, 4);
  const prompts = pairs.map((pair) => tokens.prompt(pair).ids);
  const scores = await scoreNaive(graph, prompts, { labels: tokens.labelIds, padId: tokens.chat.padId });
  await graph.close();
  await out.jsonl(
    'golden.jsonl',
    pairs.map((fields, at) => {
      const { lp_match = NaN, lp_partial = NaN, lp_null = NaN } = scores[at] ?? {};
      const merged = [lp_match, lp_partial, lp_null];
      return {
        row: `row ${at}`,
        label: LABELS[at % 3],
        form: 'sentence',
        fields,
        prompt_ids: prompts[at],
        adapter: merged,
        merged,
        onnx: {},
      };
    }),
  );
  const zeros = LABELS.map(() => LABELS.map(() => 0));
  const details: VerifierModelDetails = {
    base: 'tiny',
    base_sha256: sha256('tiny'),
    settings: { max_length: MAX_LENGTH },
    settings_compared: false,
    labels: [...LABELS],
    label_ids: Object.fromEntries(LABELS.map((label) => [label, [...tokens.labelIds[label]]])),
    pad_id: tokens.chat.padId,
    eos_id: tokens.chat.eosId,
    vocab_size: SHAPE.vocabulary,
    template_sha256: tokens.chat.templateSha256,
    prompt_sha256: tokens.promptSha256,
    tokenizer_sha256: sha256('tokenizer'),
    architecture: architectureOf(SHAPE),
    tied_embeddings: true,
    variants: { fp32: { path: GRAPH, external: [] } },
    default_variant: 'fp32',
    metrics: { dev: { rows: 0, accuracy: null, macro_f1: null, confusion: zeros, per_class: {} }, steps: 0, train_rows: 0 },
    parity: { stages: [], dev: [], refused: {} },
    ...options.details,
  };
  await out.finish({ counts: {}, details });
  return dir;
}

/** A copy that may be spoilt. */
export async function copyOf(folder: string): Promise<string> {
  const copy = join(await temporaryFolder(), 'copy');
  await cp(folder, copy, { recursive: true });
  return copy;
}
