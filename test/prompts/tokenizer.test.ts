import assert from 'node:assert/strict';
import { rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { test } from 'node:test';
import { openChatEncoder, tokenizerFolder } from '../../src/prompts/index.js';
import { temporaryFolder } from '../support/files.js';
import { type SmallTokenizer, smallTokenizer } from '../support/small-tokenizer.js';

const refusals: [claim: string, tokenizer: SmallTokenizer, message: (folder: string) => string][] = [
  [
    'a tokenizer without a chat template',
    { config: { chat_template: null } },
    (folder) => `${folder}: has no chat template, expected one in tokenizer_config.json or chat_template.jinja`,
  ],
  [
    'a template that drops the system message',
    { template: "{% for m in messages if m.role == 'user' %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}" },
    () => 'the chat template writes the system message 0 times, expected once',
  ],
  [
    'a template that repeats the user turn',
    { template: '{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}{{ messages[-1].content }}<|im_end|>' },
    () => 'the chat template writes the user message 2 times, expected once',
  ],
  [
    'a template that takes no system message',
    { template: "{% if messages[0].role == 'system' %}{{ raise_exception('no system role') }}{% endif %}" },
    () => 'the chat template cannot be rendered with a system message and a user turn (no system role)',
  ],
  [
    'a template in which nothing but text ends the user turn',
    { template: '<|im_start|>{% for m in messages %}[{{ m.content }}]{% endfor %}' },
    () => 'the chat template ends the user turn without a control token: evidence could write the end of its own turn',
  ],
  [
    'a template that writes the date of the day',
    { template: "<|im_start|>{{ strftime_now('%d %B %Y') }}{% for m in messages %}{{ m.content }}<|im_end|>{% endfor %}" },
    () => 'the chat template writes the date of the day (strftime_now), so a prompt would change overnight',
  ],
  [
    'a tokenizer that puts a space before a text',
    { tokenizer: { pre_tokenizer: { type: 'Metaspace', replacement: '▁', prepend_scheme: 'first' } } },
    (folder) =>
      `${join(folder, 'tokenizer.json')}: got a tokenizer with a space before the text, expected byte-level BPE as in Qwen2.5, Llama 3 or SmolLM2`,
  ],
  [
    'a tokenizer of another kind',
    { tokenizer: { model: { type: 'WordPiece', vocab: {} } } },
    (folder) =>
      `${join(folder, 'tokenizer.json')}: got a tokenizer with a model of type WordPiece, expected byte-level BPE as in Qwen2.5, Llama 3 or SmolLM2`,
  ],
  [
    'an end-of-turn token that is none',
    { config: { eos_token: '</s>' } },
    (folder) => `${folder}: got eos_token "</s>", expected one of the tokenizer's added tokens`,
  ],
];

for (const [claim, tokenizer, message] of refusals) {
  test(`refuses ${claim}`, async () => {
    const folder = await smallTokenizer(tokenizer);
    await assert.rejects(openChatEncoder(folder), { name: 'InputError', message: message(folder) });
  });
}

test('names the file of a tokenizer that is missing or no JSON', async () => {
  const folder = await smallTokenizer();
  await writeFile(join(folder, 'tokenizer_config.json'), '{');
  await assert.rejects(openChatEncoder(folder), (error: Error) =>
    error.message.startsWith(`${join(folder, 'tokenizer_config.json')}: not JSON (`),
  );
  await rm(join(folder, 'tokenizer.json'));
  await assert.rejects(openChatEncoder(folder), { name: 'InputError', message: `${join(folder, 'tokenizer.json')}: no such file` });
});

test('a chat_template.jinja beside the configuration comes first, as transformers has it', async () => {
  const folder = await smallTokenizer();
  const before = await openChatEncoder(folder);
  await writeFile(join(folder, 'chat_template.jinja'), '{% for m in messages %}<|im_start|>{{ m.content }}<|im_end|>{% endfor %}');
  const after = await openChatEncoder(folder);
  assert.equal(after.text({ system: 'a', user: 'b' }), '<|im_start|>a<|im_end|><|im_start|>b<|im_end|>');
  assert.notEqual(after.templateSha256, before.templateSha256);
  assert.equal(after.tokenizer.sha256, before.tokenizer.sha256);
});

test('the tokenizer comes from --tokenizer, from the base’s own folder, from its folder among the models, or for Qwen2.5 from the package', async () => {
  const folder = await smallTokenizer();
  assert.equal(await tokenizerFolder('someone/model', { tokenizer: folder }), folder);
  assert.equal(await tokenizerFolder(folder), folder);
  const [parent, name] = [join(folder, '..'), folder.split('/').at(-1) as string];
  assert.equal(await tokenizerFolder(name, { modelDir: parent }), join(parent, name));
  const packaged = await tokenizerFolder('Qwen/Qwen2.5-0.5B-Instruct');
  assert.equal(packaged, await tokenizerFolder('qwen2.5-7b-instruct', { modelDir: await temporaryFolder() }));
  // By a relative path where the package lies below, as node_modules does for most.
  const below = relative(process.cwd(), packaged);
  const ways =
    'give its folder with --tokenizer DIR (tokenizer.json and tokenizer_config.json from the model; for a GGUF file, "python -m trainer ' +
    `prepare" writes them; for a model of the Qwen2.5 family, --tokenizer ${below.startsWith('..') ? packaged : below}), or name a Qwen2.5 instruct model`;
  await assert.rejects(tokenizerFolder('someone/model'), {
    name: 'InputError',
    message: `--base: got "someone/model", whose tokenizer is not here; ${ways}`,
  });
  const bare = await temporaryFolder();
  for (const base of [bare, relative(process.cwd(), bare)]) {
    await assert.rejects(tokenizerFolder(base), {
      name: 'InputError',
      message: `--base: got ${JSON.stringify(base)}, a folder without tokenizer.json; ${ways}`,
    });
  }
  assert.equal(await tokenizerFolder(bare, { tokenizer: packaged }), packaged);
});
