import { CLAIM_TEXTS, type ClaimText } from '../../core/claims.js';
import { EVIDENCE_TEXTS, type EvidenceText } from '../../core/embeddings.js';
import { InputError } from '../../core/errors.js';
import { readManifest } from '../../core/manifest.js';
import { folderNameOf, runFolder } from '../../core/run-folder.js';
import {
  BUILT_IN_ENCODER,
  DTYPES,
  type Dtype,
  EMBEDDED,
  type Embedded,
  POOLINGS,
  type Pooling,
  embeddingTexts,
  writeEmbeddings,
} from '../../../runtime/index.js';
import type { Command } from '../command.js';
import { encoderOf, encoderOptions } from '../encoder-flags.js';

/** May be given several times, each time with one value or a comma list; it never takes the words after it. */
const listOption = { type: 'string', array: true, nargs: 1 } as const;

export const embed: Command = {
  path: 'embed <path>',
  describe: 'embeddings of claims, questions and evidence sentences, cached by content',
  epilogue:
    'PATH is a run (kind trajectories), a claims or a records folder, or a JSON lines file of {"text", "role"}. A run gets its embeddings at ' +
    'RUN/embeddings/ENCODER unless --out says otherwise. Nothing is ever downloaded.',
  positionals: { path: 'run, claims folder, records folder, or JSON lines file' },
  options: {
    ...encoderOptions,
    what: { ...listOption, describe: `comma list of ${EMBEDDED.join(', ')}; default: all that PATH has` },
    claims: { ...listOption, describe: "comma list of the run's claims folders; default: all" },
    'claim-text': {
      ...listOption,
      describe: `comma list of ${CLAIM_TEXTS.join(', ')}; default: title for gold claims, expected_claim for others`,
    },
    'evidence-text': { ...listOption, describe: `comma list of ${EVIDENCE_TEXTS.join(', ')}; default: title+sentence` },
    pooling: { type: 'string', choices: POOLINGS, describe: "default: the encoder's own" },
    dtype: { type: 'string', choices: DTYPES, default: 'fp32', describe: 'which ONNX file of a folder' },
    format: { type: 'string', choices: ['arrow', 'jsonl'], default: 'arrow', describe: 'of the table' },
  },
  run: async (args, terminal) => {
    const path = args.path as string;
    const texts = await embeddingTexts(path, {
      what: listOf<Embedded>(args, 'what', EMBEDDED),
      claims: listOf<string>(args, 'claims'),
      claimTexts: listOf<ClaimText>(args, 'claim-text', CLAIM_TEXTS),
      evidenceTexts: listOf<EvidenceText>(args, 'evidence-text', EVIDENCE_TEXTS),
    });
    const encoder = await encoderOf(args, BUILT_IN_ENCODER, { pooling: args.pooling as Pooling | undefined, dtype: args.dtype as Dtype });
    const progress = terminal.progress('embed');
    try {
      const dir = args.out ?? (await defaultOut(path, encoder.identity.name));
      const manifest = await writeEmbeddings(texts, encoder, {
        dir,
        seed: args.seed,
        format: args.format as 'arrow' | 'jsonl',
        resume: args.resume,
        force: args.force,
        signal: terminal.signal,
        onProgress: (done, total) => progress.update(done, total),
      });
      progress.done();
      const { rows, ...kinds } = manifest.counts;
      const parts = Object.entries(kinds).map(([name, count]) => `${name} ${String(count)}`);
      terminal.print(
        `${String(rows)} vectors of ${encoder.identity.name} (${parts.join(', ')}; ${encoder.counts.cached} from the cache) in ${dir}`,
      );
      return {
        out: dir,
        counts: manifest.counts,
        quarantined: {},
        warnings: manifest.warnings,
        encoder: encoder.identity,
        work: { ...encoder.counts },
      };
    } finally {
      progress.done();
      await encoder.close();
    }
  },
};

async function defaultOut(path: string, encoder: string): Promise<string> {
  const manifest = path.endsWith('.jsonl') ? undefined : await readManifest(path);
  if (manifest?.kind === 'trajectories') return runFolder.embeddings(path, folderNameOf(encoder));
  throw new InputError('--out: only a run has a place of its own for embeddings; name a folder');
}

function listOf<T extends string>(args: { [name: string]: unknown }, name: string, accepted?: readonly T[]): T[] | undefined {
  const given = args[name] as string[] | undefined;
  if (given === undefined) return undefined;
  const values = given.flatMap((one) => one.split(',')).map((one) => one.trim());
  const wrong = values.find((one) => one === '' || accepted?.includes(one as T) === false);
  if (wrong !== undefined) throw new InputError(`--${name}: got ${JSON.stringify(wrong)}, expected ${accepted?.join(', ') ?? 'a name'}`);
  return values.filter((one, at) => values.indexOf(one) === at) as T[];
}
