import { basename, join } from 'node:path';
import { InputError } from '../../core/errors.js';
import { MANIFEST_NAME, type Manifest, readManifest } from '../../core/manifest.js';
import { openOutputFolder } from '../../core/output-folder.js';
import { folderNameOf, runFolder } from '../../core/run-folder.js';
import { extractRun, figure } from '../../evaluate/index.js';
import { EXTRACTION_INPUT_TOKENS, EXTRACTION_TOKENS, extractionPromptSha256 } from '../../prompts/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { resultOf } from '../finished.js';
import { type LlmFlags, llmOptions, openModel } from '../llm-flags.js';
import { wholeNumber } from '../number-flags.js';
import { folderName } from '../run-flags.js';
import { formatOption } from './input-options.js';

interface Flags extends CommonFlags, LlmFlags {
  run: string;
  name?: string;
  'max-input-tokens': number;
  format: 'arrow' | 'jsonl';
}

export const extract: Command = {
  path: 'extract <run>',
  describe: 'an answer from the evidence after every loop of a run, kept beside it, with exact match and F1',
  epilogue:
    'The standard extractor: a language model that reads what was retrieved up to a loop and gives the bare answer. Kept at RUN/extractions/NAME, ' +
    'where replay --extractor NAME finds it.',
  positionals: { run: 'folder of a run' },
  options: {
    name: { type: 'string', describe: "name under which the answers are kept (default: the model's)" },
    'max-input-tokens': {
      type: 'number',
      default: EXTRACTION_INPUT_TOKENS,
      describe: 'of a prompt; longer evidence loses its end',
    },
    ...llmOptions,
    ...formatOption,
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const manifest = await readManifest(flags.run, 'trajectories');
  const maxInputTokens = wholeNumber('max-input-tokens', flags['max-input-tokens'], 128);
  const name = flags.name === undefined ? nameOf(flags.llm ?? '') : folderName('name', flags.name);
  const dir = flags.out ?? runFolder.extractions(flags.run, name);
  const model = await openModel(flags, terminal, { dir });
  try {
    const out = await openOutputFolder({
      dir,
      kind: 'extractions',
      command: 'extract',
      options: { name, llm: model.identity, prompt: extractionPromptSha256(), 'max-input-tokens': maxInputTokens, format: flags.format },
      seed: flags.seed,
      inputs: [join(flags.run, MANIFEST_NAME)],
      resume: flags.resume,
      force: flags.force,
    });
    if (out.finished) return ended(out.finished, dir, terminal);
    const bar = terminal.progress('extracting');
    const counts = await extractRun(out, {
      run: flags.run,
      manifest,
      name,
      model,
      maxInputTokens,
      concurrency: model.concurrency,
      format: flags.format,
      onProgress: (done) => bar.update(done, typeof manifest.counts.questions === 'number' ? manifest.counts.questions : null),
      onFailed: ({ question_id, message }) => terminal.warn(`question ${JSON.stringify(question_id)}: ${message}`),
      signal: terminal.signal,
    })
      .catch(async (error: unknown) => {
        if (error instanceof InputError) await out.discard();
        throw error;
      })
      .finally(() => bar.done());
    const words = await model.words();
    const done = await out.finish({ counts, warnings: warningsOf(counts, maxInputTokens), details: detailsOf(name, manifest, model) });
    terminal.note(words);
    return { ...ended(done, dir, terminal), model: model.identity, work: model.work() };
  } finally {
    await model.close();
  }
}

function detailsOf(name: string, manifest: Manifest, model: Awaited<ReturnType<typeof openModel>>): Manifest['details'] {
  return {
    name,
    dataset: String(manifest.details.dataset),
    model: model.identity,
    prompt_sha256: extractionPromptSha256(),
    // Without the model's own tokenizer prompts are cut by an estimate that rather counts too many.
    tokens_counted_by: model.countTokens === undefined ? 'estimate' : 'model',
    fidelity: 'approximate',
    fidelity_note: 'own wording of the prompt, and the model that was given, for the papers’ prompt and Qwen2.5-3B-Instruct in NF4',
  };
}

function warningsOf(counts: Manifest['counts'], maxInputTokens: number): string[] {
  const warnings: string[] = [];
  const {
    questions,
    loops,
    calls,
    without_answer: without,
    longest_prompt: longest,
    cut_prompts: cut,
  } = counts as { [name: string]: number };
  const { empty_answers: empty, cut_replies: cutReplies } = counts as { [name: string]: number };
  if ((without as number) > 0) warnings.push(`${without} of ${questions} questions have no gold answer and no scores`);
  if ((empty as number) > 0) warnings.push(`${empty} of ${loops} answers are empty`);
  if ((cutReplies as number) > 0)
    warnings.push(
      `${cutReplies} of ${calls} replies were cut off after ${EXTRACTION_TOKENS} tokens; a model that reasons first has to have that switched off on its server`,
    );
  if ((cut as number) > 0) warnings.push(`the evidence of ${cut} loops was cut to keep prompts within ${maxInputTokens} tokens`);
  if ((longest as number) > maxInputTokens)
    warnings.push(`the longest prompt had ${longest} tokens by the model's own count, more than the ${maxInputTokens} that were estimated`);
  return warnings;
}

/** A folder's name from a model's: the last part of a path or of a repository's name, without `.gguf`. */
function nameOf(model: string): string {
  const name = folderNameOf(basename(model).replace(/\.gguf$/i, ''));
  return name === '' ? 'extractor' : name;
}

interface Scores {
  questions: number;
  em: number;
  f1: number;
}

function ended(manifest: Manifest, dir: string, terminal: Terminal): CommandResult {
  const {
    questions,
    loops,
    calls,
    at_last_loop: last,
    native,
  } = manifest.counts as {
    questions: number;
    loops: number;
    calls: number;
    at_last_loop: Scores | null;
    native: Scores | null;
  };
  terminal.print(`${questions} questions, ${loops} loops, ${calls} calls`);
  for (const [what, scores] of [
    ['at the last loop', last],
    ["the agent's own answers", native],
  ] as const) {
    if (scores) terminal.print(`${what}  EM ${figure(scores.em)}  F1 ${figure(scores.f1)}  over ${scores.questions} questions`);
  }
  terminal.print(dir);
  return resultOf(dir, manifest);
}
