import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Product {
  name: string;
  version: string;
}

let cached: { product: Product; folder: string } | undefined;

/** Name and version of this package, from its own package.json. */
export function product(): Product {
  return ownPackage().product;
}

/** Path of a data file that is shipped with this package, relative to its package.json. */
export function packageFile(name: string): string {
  return join(ownPackage().folder, name);
}

/** The package.json is found above the compiled file, wherever that was built. */
function ownPackage(): { product: Product; folder: string } {
  if (cached) return cached;
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      const content = JSON.parse(readFileSync(file, 'utf8')) as Product;
      if (content.name === 'hopgate') return (cached = { product: { name: content.name, version: content.version }, folder });
    }
    const parent = dirname(folder);
    if (parent === folder) throw new Error('package.json of hopgate not found above its own files');
    folder = parent;
  }
}
