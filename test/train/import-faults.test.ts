import assert from 'node:assert/strict';
import { create, clone } from '@bufbuild/protobuf';
import { appendFile, cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import {
  NodeProtoSchema,
  TensorProtoSchema,
  TensorProto_DataLocation,
  TensorShapeProto_DimensionSchema,
  type ModelProto,
  type TensorProto,
  type ValueInfoProto,
} from 'onnx-buf';
import { hashFile } from '../../src/core/hash.js';
import type { GoldenScores } from '../../src/core/verifier-export.js';
import { importVerifier, trainingSha256 } from '../../train/index.js';
import { temporaryFolder } from '../support/files.js';
import { refusedImport, wholeExport } from '../support/refused-import.js';
import { smallTokenizer } from '../support/small-tokenizer.js';
import { changeExport, changeGraph, changeRows, copyOf, jobOf, listFiles, writeAdapter } from '../support/tiny-export.js';

const GRAPH = 'onnx/fp32/model.onnx';
const DATA = 'onnx/fp32/model.onnx.data';
/** Of the small tokenizer: 4 control tokens, 256 bytes, 16 merges. */
const TOKENS = 276;

let made: string;
before(async () => {
  made = await wholeExport();
});

test('a missing tensor of the graph or of the adapter is named', async () => {
  await refusedImport(
    (folder) =>
      changeGraph(folder, 'fp32', ({ graph }) => {
        if (graph) graph.initializer = graph.initializer.filter((one) => one.name !== 'layer.1.q');
      }),
    `FOLDER/${GRAPH}: missing tensor: nothing in the graph gives layer.1.q`,
  );
  await refusedImport(async (folder) => {
    await writeAdapter(folder, 2, (names) => names.filter((one) => !one.includes('layers.1.self_attn.v_proj.lora_B')));
    await listFiles(folder);
  }, 'FOLDER/adapter/adapter_model.safetensors: missing tensor: no lora_B of v_proj in layer 1');
  await refusedImport(async (folder) => {
    await writeAdapter(folder, 2, (names) => [...names, 'base_model.model.lm_head.lora_A.weight']);
    await listFiles(folder);
  }, 'FOLDER/adapter/adapter_model.safetensors: holds the tensor base_model.model.lm_head.lora_A.weight, which belongs to none of q_proj, v_proj');
});

test("P58: a graph that gives full logits is refused, and any other input or output than the scorer's", async () => {
  await refusedImport(
    (folder) =>
      changeGraph(folder, 'fp32', (model) => {
        const port = outputOf(model, 'logprobs');
        const shape = port.type?.value.case === 'tensorType' ? port.type.value.value.shape : undefined;
        if (shape) shape.dim[1] = create(TensorShapeProto_DimensionSchema, { value: { case: 'dimValue', value: BigInt(TOKENS) } });
      }),
    `FOLDER/${GRAPH}: output logprobs has the vocabulary's size (${TOKENS}): a verifier's graph gives the labels' log-probabilities alone, or a batch of prompts would take gigabytes`,
  );
  await refusedImport(
    (folder) =>
      changeGraph(folder, 'fp32', (model) => {
        outputOf(model, 'present.1.value').name = 'present.2.value';
        for (const node of model.graph?.node ?? [])
          node.output = node.output.map((one) => (one === 'present.1.value' ? 'present.2.value' : one));
        for (const node of model.graph?.node ?? [])
          node.input = node.input.map((one) => (one === 'present.1.value' ? 'present.2.value' : one));
      }),
    `FOLDER/${GRAPH}: no output present.1.value; it has logprobs, present.0.key, present.0.value, present.1.key, present.2.value`,
  );
  await refusedImport(
    (folder) => changeExport(folder, ({ architecture }) => ({ architecture: { ...architecture, head_dim: 4 } })),
    `FOLDER/${GRAPH}: input past_key_values.0.key has the shape [batch, 2, past, 8], expected [batch, 2, past, 4]`,
  );
  await refusedImport(
    (folder) =>
      changeGraph(folder, 'fp32', ({ graph }) => void graph?.node.push(create(NodeProtoSchema, { opType: 'EPContext', name: 'outside' }))),
    `FOLDER/${GRAPH}: holds an EPContext operator, which loads other files`,
  );
  await refusedImport(async (folder) => {
    await writeFile(join(folder, GRAPH), 'not protobuf');
    await listFiles(folder);
  }, `FOLDER/${GRAPH}: not an ONNX model (illegal tag: field no 13 wire type 6)`);
});

test('P52: a merge into a quantised base, or in a narrower format than 32-bit floats, is refused', async () => {
  await refusedImport(
    (folder) => changeExport(folder, () => ({ merged_into_quantised: true })),
    'FOLDER/export.json, field merged_into_quantised: the adapter was merged into a quantised base, whose rounding the merged weights then keep: ' +
      'merge into the base as it was published, in float32',
  );
  await refusedImport(
    (folder) => changeExport(folder, () => ({ merge_dtype: 'bfloat16' })),
    'FOLDER/export.json, field merge_dtype: the adapter was merged in "bfloat16", expected "float32": merge into the base as it was published, in float32',
  );
});

test('P55: token embedding and output head that are said to be one matrix, and are not, are refused; equal copies pass, either way they lie', async () => {
  const withHead =
    (change: (values: Float32Array, columns: boolean) => void, columns: boolean) =>
    async (folder: string): Promise<void> => {
      const data = await readFile(join(folder, DATA));
      await changeGraph(folder, 'fp32', (model) => {
        const embedding = embeddingOf(model);
        const offset = Number(embedding.externalData.find((one) => one.key === 'offset')?.value);
        const values = new Float32Array(Uint8Array.from(data.subarray(offset, offset + TOKENS * 32 * 4)).buffer);
        const laid = columns
          ? Float32Array.from({ length: TOKENS * 32 }, (_, at) => values[(at % TOKENS) * 32 + Math.floor(at / TOKENS)] as number)
          : values;
        change(laid, columns);
        const head = clone(TensorProtoSchema, embedding);
        head.name = 'lm_head';
        head.dims = columns ? [32n, BigInt(TOKENS)] : [BigInt(TOKENS), 32n];
        head.externalData = [];
        head.dataLocation = TensorProto_DataLocation.DEFAULT;
        head.rawData = new Uint8Array(laid.buffer);
        model.graph?.initializer.push(head);
      });
    };
  for (const columns of [false, true]) {
    const bump = (values: Float32Array): void => {
      // Token 7, dimension 3.
      const at = columns ? 3 * TOKENS + 7 : 7 * 32 + 3;
      values[at] = (values[at] as number) + 0.001;
    };
    await refusedImport(
      withHead(bump, columns),
      `FOLDER/${GRAPH}: the export says that token embedding and output head are one matrix, but embedding and lm_head differ for token 7`,
    );
    const equal = await copyOf(made);
    await withHead(() => undefined, columns)(equal);
    await importVerifier(equal, { seed: 13, modelDir: await temporaryFolder(), variants: ['fp32'] });
  }
});

test('swapped labels and swapped label ids are refused', async () => {
  await refusedImport(
    (folder) => changeExport(folder, () => ({ labels: ['partial', 'match', 'null'] })),
    'FOLDER/export.json, field labels: got the labels partial, match, null, expected match, partial, null in this order',
  );
  await refusedImport(
    (folder) => changeExport(folder, () => ({ labels: ['continue', 'stop'] })),
    'FOLDER/export.json, field labels: got the labels continue, stop, expected match, partial, null: only a verifier is imported, no two-way head',
  );
  const { label_ids: ids } = JSON.parse(await readFile(join(made, 'export.json'), 'utf8')) as { label_ids: { [label: string]: number[] } };
  await refusedImport(
    (folder) => changeExport(folder, () => ({ label_ids: { ...ids, match: ids.null, null: ids.match } })),
    `FOLDER/export.json, field label_ids.match: got ${JSON.stringify(ids.null)}, expected ${JSON.stringify(ids.match)} as the tokenizer encodes "match"`,
  );
  await refusedImport(
    (folder) => changeExport(folder, ({ eos_id: eos }) => ({ pad_id: eos })),
    async (folder) => {
      const { eos_id: eos } = JSON.parse(await readFile(join(folder, 'export.json'), 'utf8')) as { eos_id: number };
      return `FOLDER/export.json, field pad_id: is ${eos}, the token that ends a turn: padding would hide it`;
    },
  );
});

test('the tokenizer of another model, another chat template and another prompt are refused', async () => {
  const { tokenizer_sha256: ours, template_sha256: template } = JSON.parse(await readFile(join(made, 'export.json'), 'utf8')) as {
    [field: string]: string;
  };
  const other = await smallTokenizer({ family: 'headers' });
  await refusedImport(
    async (folder) => {
      await cp(other, join(folder, 'tokenizer'), { recursive: true });
      await listFiles(folder);
    },
    async (folder) =>
      `FOLDER/tokenizer, field tokenizer_sha256: the tokenizer is that of another model, or was changed: got ${ours}, expected ${(await hashFile(join(folder, 'tokenizer/tokenizer.json'))).sha256}`,
  );
  const changed =
    "{% for m in messages %}{{ '<|im_start|>' + m['role'] + ' ' + m['content'] + '<|im_end|>' }}{% endfor %}{{ '<|im_start|>assistant ' }}";
  await refusedImport(
    async (folder) => {
      await cp(await smallTokenizer({ template: changed }), join(folder, 'tokenizer'), { recursive: true });
      await listFiles(folder);
    },
    async () => {
      const { sha256 } = await import('../../src/core/hash.js');
      return `FOLDER/tokenizer, field template_sha256: the chat template is another one than the model was trained with: got ${template}, expected ${sha256(changed)}`;
    },
  );
  const { promptSha256 } = await import('../../src/prompts/index.js');
  await refusedImport(
    (folder) => changeExport(folder, () => ({ prompt_sha256: '0'.repeat(64) })),
    `FOLDER/export.json, field prompt_sha256: the model was trained with another prompt than this version's (system message or lines): got ${'0'.repeat(64)}, expected ${promptSha256()}`,
  );
});

test('system text that a trainer added to the prompts is found where it stands', async () => {
  // Behind <|im_start|>, "s" and "y" of "system": a byte a token, 40 and 41 are "$" and "%".
  await refusedImport(
    async (folder) => {
      await changeRows<GoldenScores>(folder, 'golden.jsonl', (row) => ({
        ...row,
        prompt_ids: [...row.prompt_ids.slice(0, 3), 40, 41, ...row.prompt_ids.slice(3)],
      }));
    },
    async (folder) => {
      const [line = ''] = (await readFile(join(folder, 'golden.jsonl'), 'utf8')).split('\n');
      const { length } = (JSON.parse(line) as GoldenScores).prompt_ids;
      return `FOLDER/golden.jsonl, line 1, field prompt_ids (golden-0): the prompt was trained as ${length} tokens, and is rendered here as ${length - 2}: from token 3 on it has "$%stem\\nJ", expected "stem\\nJud"`;
    },
  );
});

test('P43: settings other than planned are refused, all of them at once; `auto` in the plan takes any', async () => {
  const auto = await jobOf(made, (plan) => ({
    ...plan,
    settings: { ...plan.settings, optimizer: 'auto', quantisation: 'auto', compute_dtype: 'auto' },
  }));
  const ran = await copyOf(made);
  const trained = await trainingSha256(auto);
  await changeExport(ran, () => ({ training_sha256: trained }));
  const { manifest } = await importVerifier(ran, { seed: 13, modelDir: await temporaryFolder(), variants: ['fp32'], job: auto });
  assert.deepEqual([manifest.warnings, manifest.details.settings_compared], [[], true]);
  await refusedImport(
    () => Promise.resolve(),
    'FOLDER/effective.json: the trainer ran with other settings than planned (3): learning_rate: got 0.0002, expected 0.0001; ' +
      'lora_targets: got ["q_proj","v_proj"], expected ["q_proj"]; max_length: got 2048, expected 512; train again, or plan again with these',
    {
      job: await jobOf(made, (plan) => ({
        ...plan,
        settings: { ...plan.settings, max_length: 512, learning_rate: 1e-4, lora_targets: ['q_proj'] },
      })),
    },
  );
  await refusedImport(async (folder) => {
    const file = join(folder, 'effective.json');
    const { schedule: _, ...others } = JSON.parse(await readFile(file, 'utf8')) as { [name: string]: unknown };
    await writeFile(file, JSON.stringify({ ...others, seed: 14, packing: true }));
    await listFiles(folder);
  }, 'FOLDER/effective.json: differs from the settings in export.json: packing: got true, which nobody asked for; schedule: not said, expected "linear"; seed: got 14, expected 13');
});

test('an export of another job, and a job that was changed after it was planned, are refused', async () => {
  await refusedImport(
    () => Promise.resolve(),
    'FOLDER/golden.jsonl, line 1: got row "golden-0" (match), expected "golden-5" (null) as in the job',
    {
      job: await jobOf(made, undefined, (golden) => golden.toReversed()),
    },
  );
  await refusedImport(() => Promise.resolve(), 'FOLDER/golden.jsonl: got 6 rows, expected 5 as in the job', {
    job: await jobOf(made, undefined, (golden) => golden.slice(0, 5)),
  });
  await refusedImport(() => Promise.resolve(), 'FOLDER/export.json, field base: got "tiny/Decoder", expected "tiny/Other" as in the plan', {
    job: await jobOf(made, (plan) => ({ ...plan, base: 'tiny/Other' })),
  });
  const job = await jobOf(made);
  const plan = join(job, 'plan.json');
  const { bytes } = await hashFile(plan);
  await appendFile(plan, ' ');
  await refusedImport(() => Promise.resolve(), `${plan}: got ${bytes + 1} bytes, expected ${bytes} as in the manifest`, { job });
  const none = await temporaryFolder();
  await refusedImport(() => Promise.resolve(), `${none}: no manifest.json, so not a finished output folder of this product`, { job: none });
});

test('P43: an export trained on other rows, on more or fewer of them, or for other steps than the job plans is refused', async () => {
  const job = await jobOf(made);
  await importVerifier(made, { seed: 13, modelDir: await temporaryFolder(), variants: ['fp32'], job });
  const other = await jobOf(made, undefined, undefined, (row, at) => (at === 3 ? { ...row, ids: [7, 7] } : row));
  await refusedImport(
    () => Promise.resolve(),
    `FOLDER/export.json, field training_sha256: got ${await trainingSha256(job)}, expected ${await trainingSha256(other)}, of the job's plan.json and train.jsonl: trained with another plan or on other rows`,
    { job: other },
  );
  await refusedImport(
    (folder) => changeExport(folder, ({ metrics }) => ({ metrics: { ...metrics, train_rows: 23 } })),
    'FOLDER/export.json, field metrics.train_rows: got 23, expected 24 as in the plan',
    { job },
  );
  await refusedImport(
    (folder) => changeExport(folder, ({ metrics }) => ({ metrics: { ...metrics, steps: 999 } })),
    'FOLDER/export.json, field metrics.steps: got 999, expected 1000 as in the plan',
    { job },
  );
});

test('a variant that the trainer left out is named: where it is asked for the import is refused, else it warns', async () => {
  const why = 'row "golden-0": the graph gives [NaN, NaN, NaN]';
  const damage = (folder: string): Promise<void> => changeExport(folder, () => ({ failed_variants: { fp16: why } }));
  await refusedImport(damage, `FOLDER/export.json, field failed_variants.fp16: --variants: got fp16, which the trainer left out: ${why}`, {
    variants: ['fp32', 'fp16'],
  });
  const folder = await copyOf(made);
  await damage(folder);
  const { manifest } = await importVerifier(folder, { seed: 13, modelDir: await temporaryFolder() });
  assert.equal(manifest.warnings[1], `fp16 is missing, the trainer left it out: ${why}`);
  assert.equal(manifest.counts.variants, 2);
});

test('files that are not what they should be are refused by file, line and field', async () => {
  await refusedImport(
    (folder) => changeExport(folder, () => ({ kind: 'other' })),
    'FOLDER/export.json, field kind: Invalid input: expected "verifier-export"',
  );
  await refusedImport(async (folder) => {
    await changeRows<GoldenScores>(folder, 'golden.jsonl', (row, at) => (at === 2 ? { ...row, merged: [-1, -2] } : row));
  }, 'FOLDER/golden.jsonl, line 3, field merged: got 2 numbers, expected 3, one a label');
  await refusedImport(async (folder) => {
    await changeRows<GoldenScores>(folder, 'golden.jsonl', (row, at) => (at === 1 ? { ...row, label: 'maybe' } : row));
  }, 'FOLDER/golden.jsonl, line 2, field label: got "maybe", expected one of match, partial, null');
  await refusedImport(async (folder) => {
    await changeRows<GoldenScores>(folder, 'golden.jsonl', (row) => ({ ...row, onnx: {} }));
  }, 'FOLDER/golden.jsonl, line 1, field onnx.fp32: no scores of fp32 in Python');
  await refusedImport(async (folder) => {
    await appendFile(join(folder, 'dev-scores.jsonl'), '{"row": NaN}\n');
    await listFiles(folder);
  }, 'FOLDER/dev-scores.jsonl, line 10: got "{\\"row\\": NaN}", expected one JSON object');
  await refusedImport(() => Promise.resolve(), 'FOLDER: --variants: got fp16, but the export has fp32, int4', { variants: ['fp16'] });
  await refusedImport(() => Promise.resolve(), '--name: got "../up", expected letters, digits, ".", "_" and "-"', { name: '../up' });
});

function embeddingOf(model: ModelProto): TensorProto {
  const found = model.graph?.initializer.find((one) => one.name === 'embedding');
  assert.ok(found);
  return found;
}

function outputOf(model: ModelProto, name: string): ValueInfoProto {
  const found = model.graph?.output.find((one) => one.name === name);
  assert.ok(found);
  return found;
}
