import { z } from 'zod';

/**
 * One column of an artefact's table. The same description gives the TypeScript row type, the zod parser for JSON lines and the Arrow type,
 * so that the three cannot drift apart.
 */
export type Column<T = unknown> =
  | ({ kind: 'text' } & Carries<T>)
  | ({ kind: 'choice'; values: readonly string[] } & Carries<T>)
  | ({ kind: 'int' } & Carries<T>)
  | ({ kind: 'float' } & Carries<T>)
  | ({ kind: 'bool' } & Carries<T>)
  | ({ kind: 'list'; of: Column } & Carries<T>)
  | ({ kind: 'struct'; fields: Columns } & Carries<T>)
  | ({ kind: 'vector' } & Carries<T>)
  | ({ kind: 'nullable'; of: Column } & Carries<T>);

interface Carries<T> {
  /** Only for type inference, never present. */
  readonly carries?: T;
}

export type Columns = { readonly [name: string]: Column };
type Of<C> = C extends Carries<infer T> ? T : never;
export type Row<C extends Columns> = { -readonly [K in keyof C]: Of<C[K]> };

export const text = (): Column<string> => ({ kind: 'text' });
export const choice = <const V extends readonly string[]>(values: V): Column<V[number]> => ({ kind: 'choice', values });
/** 32-bit signed integer. */
export const int = (): Column<number> => ({ kind: 'int' });
/** 64-bit float. */
export const float = (): Column<number> => ({ kind: 'float' });
export const bool = (): Column<boolean> => ({ kind: 'bool' });
export const list = <T>(of: Column<T>): Column<T[]> => ({ kind: 'list', of });
export const struct = <const C extends Columns>(fields: C): Column<Row<C>> => ({ kind: 'struct', fields });
/** A vector of 32-bit floats; every row of a table has the same length. */
export const vector = (): Column<Float32Array> => ({ kind: 'vector' });
export const nullable = <T>(of: Column<T>): Column<T | null> => ({ kind: 'nullable', of });

/** The parser of one row as it stands in a JSON line. Unknown fields are refused. */
export function rowParser<const C extends Columns>(columns: C): z.ZodType<Row<C>> {
  return parserOf({ kind: 'struct', fields: columns }) as z.ZodType<Row<C>>;
}

function parserOf(column: Column): z.ZodType {
  switch (column.kind) {
    case 'text':
      return z.string();
    case 'choice':
      return z.enum(column.values as [string, ...string[]]);
    case 'int':
      return z.int32();
    case 'float':
      return z.number();
    case 'bool':
      return z.boolean();
    case 'list':
      return z.array(parserOf(column.of));
    case 'struct':
      return z.strictObject(Object.fromEntries(Object.entries(column.fields).map(([name, inner]) => [name, parserOf(inner)])));
    case 'vector':
      return z.array(z.number()).transform((numbers) => Float32Array.from(numbers));
    case 'nullable':
      return z.nullable(parserOf(column.of));
  }
}
