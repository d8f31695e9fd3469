import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

export interface Product {
  name: string;
  version: string;
}

let cached: Product | undefined;

/** Name and version of this package, from its own package.json (found above the compiled file, wherever that was built). */
export function product(): Product {
  if (cached) return cached;
  let folder = dirname(fileURLToPath(import.meta.url));
  for (;;) {
    const file = join(folder, 'package.json');
    if (existsSync(file)) {
      const content = JSON.parse(readFileSync(file, 'utf8')) as Product;
      if (content.name === 'hopgate') return (cached = { name: content.name, version: content.version });
    }
    const parent = dirname(folder);
    if (parent === folder) throw new Error('package.json of hopgate not found above its own files');
    folder = parent;
  }
}
