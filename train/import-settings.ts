import { InputError, shown } from '../src/core/errors.js';
import { canonicalJson } from '../src/core/hash.js';
import type { TrainingSettings, VerifierExport } from '../src/core/verifier-export.js';

/**
 * Compares the settings that the trainer ran with (effective.json, repeated in export.json) with those of the plan, field by field. Where the
 * plan says `auto` any value will do. Throws InputError that names every difference.
 */
export function checkSettings(
  made: VerifierExport,
  effective: TrainingSettings,
  { planned, file }: { planned: TrainingSettings | undefined; file: string },
): void {
  const echoed = differences(effective, made.settings, { auto: false });
  if (echoed.length > 0) throw new InputError(`differs from the settings in export.json: ${echoed.join('; ')}`, { file });
  if (planned === undefined) return;
  const changed = differences(effective, planned, { auto: true });
  if (changed.length > 0)
    throw new InputError(
      `the trainer ran with other settings than planned (${changed.length}): ${changed.join('; ')}; train again, or plan again with these`,
      { file },
    );
}

function differences(got: TrainingSettings, wanted: TrainingSettings, { auto }: { auto: boolean }): string[] {
  return [...new Set([...Object.keys(wanted), ...Object.keys(got)])].toSorted().flatMap((name) => {
    if (!(name in got)) return [`${name}: not said, expected ${shown(wanted[name])}`];
    if (!(name in wanted)) return [`${name}: got ${shown(got[name])}, which nobody asked for`];
    if (auto && wanted[name] === 'auto' && got[name] !== 'auto') return [];
    return canonicalJson(got[name]) === canonicalJson(wanted[name])
      ? []
      : [`${name}: got ${shown(got[name])}, expected ${shown(wanted[name])}`];
  });
}

/** Checks how the adapter was merged. Throws InputError for a merge into a quantised base or in a narrower format (known to cost points). */
export function checkMerge(made: VerifierExport, file: string): void {
  const wrong = made.merged_into_quantised
    ? (['merged_into_quantised', 'the adapter was merged into a quantised base, whose rounding the merged weights then keep'] as const)
    : made.merge_dtype !== 'float32'
      ? (['merge_dtype', `the adapter was merged in ${shown(made.merge_dtype)}, expected "float32"`] as const)
      : undefined;
  if (wrong !== undefined)
    throw new InputError(`${wrong[1]}: merge into the base as it was published, in float32`, { file, field: wrong[0] });
}
