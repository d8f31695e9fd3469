import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { InputError } from '../../src/core/errors.js';

const normalizer = z.object({ type: z.string(), lowercase: z.boolean().optional(), handle_chinese_chars: z.boolean().optional() });
const tokenizerFile = z.object({ normalizer: z.nullish(normalizer.extend({ normalizers: z.array(normalizer).optional() })) });

/** Ideographs beyond the basic plane; transformers.js looks at UTF-16 units and so finds none of these. */
const RARE_IDEOGRAPH = /[\u{20000}-\u{2a6df}\u{2a700}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu;

/**
 * What has to be done to a text so that the BERT normaliser of transformers.js 4.3 gives what the models' own tokenizers give. Two differences are
 * known: JavaScript lower-cases a word's last Σ to ς (theirs goes letter by letter, to σ), and ideographs beyond the basic plane are not set apart.
 */
export async function textRepair(tokenizerJson: string): Promise<(text: string) => string> {
  const parsed = tokenizerFile.safeParse(JSON.parse(await readFile(tokenizerJson, 'utf8')));
  if (!parsed.success) throw new InputError('not the description of a tokenizer', { file: tokenizerJson, field: 'normalizer' });
  const { normalizer: own } = parsed.data;
  const bert = [...(own ? [own] : []), ...(own?.normalizers ?? [])].find((one) => one.type === 'BertNormalizer');
  const [lower, ideographs] = [bert?.lowercase === true, bert?.handle_chinese_chars === true];
  return (text) => {
    const small = lower ? text.replaceAll('Σ', 'σ') : text;
    return ideographs ? small.replace(RARE_IDEOGRAPH, ' $& ') : small;
  };
}
