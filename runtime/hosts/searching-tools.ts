import { InputError } from '../../src/core/errors.js';

/** Which tools search. Throws InputError where that is not plain. */
export function searchingTools(names: readonly string[], search: readonly string[] | undefined): readonly string[] {
  const unknown = search?.find((name) => !names.includes(name));
  if (unknown !== undefined)
    throw new InputError(
      `search: got ${JSON.stringify(unknown)}, expected a tool that the host runs: ${names.join(', ') || 'there is none'}`,
    );
  if (search === undefined && names.length > 1)
    throw new InputError(`search: got nothing, expected the names of the tools that search, since there are several: ${names.join(', ')}`);
  return search ?? names;
}
