// Loader hooks of one mutant: the source of one compiled module is changed while it is loaded. Registered by `mutant-register.ts`.
import { readFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';

interface Mutation {
  /** End of the module's path. */
  file: string;
  from: string;
  to: string;
}

interface Loaded {
  format: string;
  source: string;
  shortCircuit: true;
}

const mutation = JSON.parse(process.env.HOPGATE_MUTATION ?? 'null') as Mutation | null;

export async function load(url: string, context: unknown, next: (url: string, context: unknown) => Promise<Loaded>): Promise<Loaded> {
  if (mutation === null || !url.endsWith(mutation.file)) return next(url, context);
  const source = await readFile(fileURLToPath(url), 'utf8');
  return { format: 'module', source: source.replace(mutation.from, () => mutation.to), shortCircuit: true };
}
