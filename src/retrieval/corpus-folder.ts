import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type ArrowRows, openArrowRows } from '../core/arrow.js';
import { SHARD_FOLDER, partTables, passageColumns, passageNumber, shardFolder } from '../core/corpus.js';
import { type EncoderIdentity, encoderIdentity } from '../core/embeddings.js';
import { InputError } from '../core/errors.js';
import { canonicalJson } from '../core/hash.js';
import { MANIFEST_NAME, type Manifest, checkedFile, readManifest } from '../core/manifest.js';

/** An embedded corpus as it lies on the disk. */
export interface CorpusFolder {
  encoder: EncoderIdentity;
  splitter: string;
  /** sha256 of the corpus file. */
  corpus: string;
  passages: number;
  parts: {
    /** The Arrow file of its vectors. */
    vectors: string;
    passages: ArrowRows<typeof passageColumns>;
    /** The number in the corpus of the part's row. */
    numberOf: (row: number) => number;
  }[];
  /** Manifests that stand for it as a command's inputs. */
  manifests: string[];
  close(): Promise<void>;
}

/**
 * Opens what `corpus embed` wrote: one folder, or a folder with all shards of one corpus below it. Every file is checked against its manifest
 * first. Throws InputError where a shard is missing or belongs to another corpus or encoder.
 */
export async function openCorpusFolder(dir: string): Promise<CorpusFolder> {
  const shards = await shardsOf(dir);
  const [first] = shards as [Shard, ...Shard[]];
  const parsed = encoderIdentity.safeParse(first.manifest.details.encoder);
  const { splitter } = first.manifest.details;
  if (!parsed.success || typeof splitter !== 'string')
    throw new InputError('the manifest does not say encoder and splitter', { file: join(first.dir, MANIFEST_NAME), field: 'details' });
  const parts: CorpusFolder['parts'] = [];
  const close = async (): Promise<void> => {
    for (const { passages } of parts) await passages.close();
  };
  try {
    for (const [shard, { dir: folder, manifest }] of shards.entries()) {
      let before = 0;
      for (let part = 0; part < Number(manifest.counts.parts); part++) {
        const names = partTables(part);
        const vectors = await checkedFile(folder, manifest, `${names.vectors}.arrow`);
        const passages = await openArrowRows(await checkedFile(folder, manifest, `${names.passages}.arrow`), passageColumns);
        const first = before;
        parts.push({ vectors, passages, numberOf: (row) => passageNumber(first + row, shard, shards.length) });
        before += passages.rows;
      }
    }
  } catch (error) {
    await close();
    throw error;
  }
  return {
    encoder: parsed.data,
    splitter,
    corpus: first.manifest.inputs[0]?.sha256 ?? '',
    passages: parts.reduce((sum, { passages }) => sum + passages.rows, 0),
    parts,
    manifests: shards.map((one) => join(one.dir, MANIFEST_NAME)),
    close,
  };
}

interface Shard {
  dir: string;
  manifest: Manifest;
}

async function shardsOf(dir: string): Promise<Shard[]> {
  const names = (await readdir(dir).catch(() => [])).filter((name) => SHARD_FOLDER.test(name)).toSorted();
  const [named] = names;
  if (named === undefined) {
    const manifest = await readManifest(dir, 'corpus');
    if (manifest.details.of === 1) return [{ dir, manifest }];
    throw new InputError(
      `is shard ${String(manifest.details.shard)} of ${String(manifest.details.of)}, expected the folder of all shards`,
      { file: dir },
    );
  }
  const of = Number(SHARD_FOLDER.exec(named)?.[2]);
  const shards: Shard[] = [];
  for (let shard = 0; shard < of; shard++) {
    const folder = join(dir, shardFolder(shard, of));
    shards.push({ dir: folder, manifest: await readManifest(folder, 'corpus') });
  }
  if (names.length !== of) throw new InputError(`holds shards of several divisions (${names.join(', ')}), expected one`, { file: dir });
  const [first] = shards as [Shard, ...Shard[]];
  const sameness = ({ manifest }: Shard): string =>
    canonicalJson([manifest.details.encoder, manifest.details.splitter, manifest.details.text, manifest.inputs]);
  const other = shards.find((one) => sameness(one) !== sameness(first));
  if (other) throw new InputError('was made from another corpus file, or by another encoder, than the first shard', { file: other.dir });
  return shards;
}
