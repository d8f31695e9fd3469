import { DEFAULT_PART_ROWS, writeCorpus } from '../../../runtime/index.js';
import { join } from 'node:path';
import { shardFolder } from '../../core/corpus.js';
import { InputError, shown } from '../../core/errors.js';
import { type BadPassage, corpusPassages } from '../../retrieval/index.js';
import type { Command, CommandResult, CommonFlags, Terminal } from '../command.js';
import { encoderOptions, openedEncoder } from '../encoder-flags.js';
import { resultOf } from '../finished.js';
import { wholeNumber } from '../number-flags.js';
import { type RayShardFlags, embedOnRay, rayShardOptions } from '../ray-shards.js';
import { checkStrict, outFolder } from './input-options.js';

interface Flags extends CommonFlags, RayShardFlags {
  file: string;
  encoder?: string;
  'cache-dir'?: string;
  'model-dir'?: string;
  shard?: string;
  'part-rows': number;
  strict: boolean;
}

export const corpusEmbed: Command = {
  path: 'corpus embed <file>',
  describe: 'embeds a corpus of passages, or one shard of it, for --retriever dense',
  epilogue:
    'FILE has JSON lines {id, contents} or {id, title, text}, or tab-separated id, text, title; gzipped or not. --shard i/n embeds the i-th of n shards ' +
    '(i from 0) into its own folder below --out; any scheduler may run them, in any order, and --resume goes on behind the last whole part.',
  positionals: { file: 'corpus file' },
  options: {
    ...encoderOptions,
    shard: { type: 'string', describe: 'i/n: shard i of n, i from 0; default: the whole corpus in --out itself' },
    'part-rows': { type: 'number', default: DEFAULT_PART_ROWS, describe: 'passages of one part: what a kill can cost' },
    ...rayShardOptions,
    strict: { type: 'boolean', default: false, describe: 'exit 1 when a line had to be left out' },
  },
  run: (args, terminal) => run(args as unknown as Flags, terminal),
};

async function run(flags: Flags, terminal: Terminal): Promise<CommandResult> {
  const out = outFolder(flags.out);
  const partRows = wholeNumber('part-rows', flags['part-rows']);
  const shard = shardOf(flags.shard);
  if (flags.ray !== undefined) return embedOnRay(flags, { out, partRows, terminal });
  const dir = shard ? join(out, shardFolder(shard.index, shard.of)) : out;
  const encoder = await openedEncoder({ ...flags });
  const bar = terminal.progress('embed (passages)', { lines: true });
  const left: BadPassage[] = [];
  const { signal } = terminal;
  try {
    const passages = corpusPassages(flags.file, { signal, onBad: (bad) => left.push(bad) });
    const { manifest, encoded } = await writeCorpus(passages, encoder, {
      dir,
      file: flags.file,
      shard,
      partRows,
      left,
      seed: flags.seed,
      resume: flags.resume,
      force: flags.force,
      signal,
      onProgress: (done) => bar.update(done, null),
    });
    bar.done();
    const { counts } = manifest;
    terminal.print(
      `${String(counts.passages)} passages of ${String(counts.corpus_passages)} in ${String(counts.parts)} parts, by ${encoder.identity.name}; in ${dir}`,
    );
    checkStrict(flags.strict, manifest.quarantined, 0);
    return { ...resultOf(dir, manifest), encoder: encoder.identity, work: { encoded } };
  } finally {
    bar.done();
    await encoder.close();
  }
}

function shardOf(text: string | undefined): { index: number; of: number } | undefined {
  if (text === undefined) return undefined;
  const match = /^(\d+)\/(\d+)$/.exec(text);
  const [index, of] = [Number(match?.[1]), Number(match?.[2])];
  if (!match || !(index < of && of <= 99_999)) throw new InputError(`--shard: got ${shown(text)}, expected i/n with i from 0 to n − 1`);
  return { index, of };
}
