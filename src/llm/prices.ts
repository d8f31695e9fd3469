import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { InputError, fromSystem, shown } from '../core/errors.js';
import { parsedJson } from '../core/parse.js';

const table = z.strictObject({
  currency: z.string().regex(/^[A-Z]{3}$/, 'expected a currency such as "USD"'),
  models: z.record(z.string(), z.strictObject({ prompt: z.number().nonnegative(), completion: z.number().nonnegative() })),
});

/** What a million tokens of a model cost. */
export interface Price {
  currency: string;
  prompt: number;
  completion: number;
}

/** A model's price in a price table (FORMATS.md). Throws InputError that names the models which have one. */
export async function readPrice(file: string, model: string): Promise<Price> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw fromSystem(error, file);
  });
  const { currency, models } = parsedJson(table, text, { file });
  // A model may be called `constructor`.
  const price = Object.hasOwn(models, model) ? models[model] : undefined;
  if (price === undefined)
    throw new InputError(
      `no price of ${shown(model)}, expected one of ${
        Object.keys(models)
          .map((name) => shown(name))
          .join(', ') || 'none'
      }`,
      {
        file,
        field: 'models',
      },
    );
  return { currency, ...price };
}

/** Computed from the sums, so that it does not hang on the order of the calls. */
export function costOf(price: Price, tokens: { prompt_tokens: number; completion_tokens: number }): number {
  return (tokens.prompt_tokens * price.prompt + tokens.completion_tokens * price.completion) / 1_000_000;
}
