import type { RouterComparison } from './compare-routers.js';
import type { Replay, ReplayedDataset } from './replay.js';

/** A replay as `replay.json` holds it: the same figures under the spelling of files, `call_cut` for `callCut`. */
export function storedReplay({ datasets, pooled, breakEven, costs }: Replay): { [field: string]: unknown } {
  return respelled({ datasets, pooled, breakEven, ...(costs && { costs }) }, toFile) as { [field: string]: unknown };
}

/** The other way, for the report. The manifest vouches for the file's bytes, so its shape is not checked again. */
export function restoredReplay(stored: { datasets: unknown; pooled: unknown; break_even: unknown; costs?: string[] }): Replay {
  const { datasets, pooled, break_even, costs } = stored;
  const { breakEven, ...rest } = respelled({ datasets, pooled, break_even }, fromFile) as {
    datasets: ReplayedDataset[];
    pooled: ReplayedDataset | null;
    breakEven: string[];
  };
  return { ...rest, breakEven, ...(costs && { costs }) };
}

/** A comparison of routers as `routers.json` holds it, without the single questions of random skipping. */
export function storedRouters(compared: readonly RouterComparison[]): unknown {
  const plain = compared.map((one) => ({ ...one, random: one.random.map((skipped) => ({ ...skipped, agrees: undefined })) }));
  return respelled({ datasets: plain }, toFile);
}

/** A plain value under the spelling of files: every key, at every level. */
export function fileSpelling(value: unknown): unknown {
  return respelled(value, toFile);
}

/** Every key of a plain value, at every level. */
function respelled(value: unknown, spell: (key: string) => string): unknown {
  if (Array.isArray(value)) return value.map((one) => respelled(one, spell));
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [spell(key), respelled(inner, spell)]));
}

function toFile(key: string): string {
  return key.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

function fromFile(key: string): string {
  return key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
