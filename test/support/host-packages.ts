import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { pathToFileURL } from 'node:url';
import { packagesAt } from '../../src/cli/llm-flags.js';
import { repositoryRoot } from './root.js';

export interface HostPackages {
  /** examples/<host>. */
  folder: string;
  /** Loads a package of the example, such as `ai` or `ai/test`. */
  load: <T>(name: string) => Promise<T>;
  /** Loads a module of the example. `hopgate` in it is this checkout's `dist`. */
  example: <T>(file: string) => Promise<T>;
}

/**
 * The real packages of an agent host, where `node examples/install.mjs` put them; undefined after skipping the test with the reason: they are not
 * installed, or this Node is too old for them (the example's `engines`).
 */
export function hostPackagesOrSkip(t: TestContext, host: string): HostPackages | undefined {
  const folder = join(repositoryRoot, 'examples', host);
  const { engines, dependencies } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
    engines: { node: string };
    dependencies: { [name: string]: string };
  };
  if (!nodeReaches(process.versions.node, engines.node)) {
    t.skip(`needs Node ${engines.node}: examples/${host} asks for it, this is ${process.versions.node}`);
    return undefined;
  }
  const missing = Object.keys(dependencies).find((name) => !existsSync(join(folder, 'node_modules', name, 'package.json')));
  if (missing !== undefined || !existsSync(join(repositoryRoot, 'examples', 'node_modules', 'hopgate'))) {
    t.skip(`needs hosts: ${missing ?? 'the link to hopgate'} is not in examples/${host} (node examples/install.mjs)`);
    return undefined;
  }
  const load = packagesAt(folder) as (name: string) => Promise<unknown>;
  return {
    folder,
    load: <T>(name: string) => load(name) as Promise<T>,
    example: <T>(file: string) => import(pathToFileURL(join(folder, file)).href) as Promise<T>,
  };
}

/** `engines` of an example has the one form `>=22.13.0`. */
function nodeReaches(version: string, range: string): boolean {
  const [has, wants] = [version, range.replace(/^>=/, '')].map((one) => one.split('.').map(Number));
  for (const [at, least] of (wants ?? []).entries()) {
    const own = has?.[at] ?? 0;
    if (own !== least) return own > least;
  }
  return true;
}
