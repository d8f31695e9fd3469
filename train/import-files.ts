import { type FileHandle, lstat, open, readdir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { InputError } from '../src/core/errors.js';
import { hashFile } from '../src/core/hash.js';
import { VARIANTS, type VerifierExport } from '../src/core/verifier-export.js';

/** Stands in the export beside the files that it lists. */
export const EXPORT_NAME = 'export.json';

/** Files that every export has besides its graphs. */
export const REQUIRED_FILES = [
  'adapter/adapter_config.json',
  'adapter/adapter_model.safetensors',
  'dev-scores.jsonl',
  'effective.json',
  'golden.jsonl',
  'model-card.md',
  'tokenizer/tokenizer.json',
  'tokenizer/tokenizer_config.json',
] as const;

/**
 * Checks that the files of an export folder are exactly those that its export.json lists, byte for byte, that none of them is a link, and
 * that none is a pickle, whose loading would run what is in it. Folders are not listed: an empty one holds nothing to check, and is not
 * imported. Throws InputError for the first fault, naming the file.
 */
export async function checkFiles(folder: string, made: VerifierExport, options: { signal?: AbortSignal | undefined } = {}): Promise<void> {
  const listed = new Set<string>();
  for (const { path } of made.files) {
    if (listed.has(path) || path === EXPORT_NAME)
      throw new InputError(`lists ${path} ${path === EXPORT_NAME ? 'itself' : 'twice'}`, {
        file: join(folder, EXPORT_NAME),
        field: 'files',
      });
    listed.add(path);
  }
  for (const path of [...REQUIRED_FILES, ...graphFiles(made)]) {
    if (!listed.has(path))
      throw new InputError(`does not list ${path}, which an export has`, { file: join(folder, EXPORT_NAME), field: 'files' });
  }
  for (const path of await filesIn(folder, '')) {
    if (path !== EXPORT_NAME && !listed.has(path))
      throw new InputError(`not listed in ${EXPORT_NAME}: it was not made with this export; take it out, or export again`, {
        file: join(folder, path),
      });
  }
  for (const { path, bytes, sha256 } of made.files) {
    options.signal?.throwIfAborted();
    const file = join(folder, path);
    const size = await lstat(file).catch(() => undefined);
    if (size === undefined) throw new InputError(`listed in ${EXPORT_NAME}, but missing`, { file });
    if (size.size !== bytes) throw new InputError(`got ${size.size} bytes, expected ${bytes} as in ${EXPORT_NAME}`, { file });
    await refusePickle(file);
    const got = await hashFile(file);
    if (got.sha256 !== sha256)
      throw new InputError(`got sha256 ${got.sha256}, expected ${sha256} as in ${EXPORT_NAME}: the file was changed or damaged`, { file });
  }
}

function graphFiles({ variants }: VerifierExport): string[] {
  return VARIANTS.flatMap((name) => {
    const files = variants[name];
    return files === undefined ? [] : [files.path, ...files.external];
  });
}

/** Paths relative to the folder, with slashes. Only the interpreter's own leavings and links are no plain files. */
async function filesIn(folder: string, below: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(join(folder, below), { withFileTypes: true })) {
    const path = below === '' ? entry.name : `${below}/${entry.name}`;
    if (entry.isDirectory()) found.push(...(await filesIn(folder, path)));
    else if (entry.isFile()) found.push(path);
    else {
      const what = entry.isSymbolicLink() ? 'a symbolic link, which may point anywhere' : 'neither a file nor a folder';
      throw new InputError(`is ${what}: an export holds plain files only`, { file: join(folder, path) });
    }
  }
  return found.toSorted();
}

const PICKLE_ENDINGS = new Set(['.bin', '.pt', '.pth', '.pkl', '.pickle', '.ckpt', '.joblib', '.npy', '.npz']);
/** How PyTorch began its files before they were zip archives: a pickled number that only it uses. */
const OLD_TORCH = Buffer.from([0x80, 0x02, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19, 0x2e]);

async function refusePickle(file: string): Promise<void> {
  const ending = extname(file).toLowerCase();
  const refuse = (why: string): never => {
    throw new InputError(
      `${why}: loading a pickle runs what is in it, and an export has no use for one (weights are .safetensors and .onnx)`,
      {
        file,
      },
    );
  };
  if (PICKLE_ENDINGS.has(ending)) refuse(`has the ending ${ending}, which pickles have`);
  const { head, last } = await ends(file);
  if (head.subarray(0, 4).equals(Buffer.from('PK\u0003\u0004'))) refuse('is a zip archive, as PyTorch pickles weights');
  if (head.equals(OLD_TORCH)) refuse("begins as PyTorch's old pickles do");
  // PROTO, the version, an operation, and STOP at the end. Raw weights may begin alike, hence all four.
  const [first, version, operation] = head;
  if (first === 0x80 && version !== undefined && version >= 2 && version <= 5 && isOperation(operation) && last === 0x2e)
    refuse('is a pickle');
}

/** Operations of a pickle are printable characters, or 0x80 to 0x97. */
function isOperation(byte: number | undefined): boolean {
  return byte !== undefined && ((byte >= 0x20 && byte <= 0x7e) || (byte >= 0x80 && byte <= 0x97));
}

async function ends(file: string): Promise<{ head: Buffer; last: number | undefined }> {
  let handle: FileHandle | undefined;
  try {
    handle = await open(file);
    const { size } = await handle.stat();
    const head = Buffer.alloc(Math.min(size, OLD_TORCH.length));
    await handle.read(head, 0, head.length, 0);
    const last = Buffer.alloc(1);
    if (size > 0) await handle.read(last, 0, 1, size - 1);
    return { head, last: size > 0 ? last[0] : undefined };
  } finally {
    await handle?.close();
  }
}
