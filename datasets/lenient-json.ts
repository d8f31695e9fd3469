/** Lists and objects found in a text, and which of them the text ended in. */
export interface FoundJson {
  /** Top-level lists and objects in the order of the text. */
  values: unknown[];
  /** Lists and objects, at any level, without their closing bracket. */
  unclosed: ReadonlySet<object>;
}

/**
 * Every list and object that stands in a text, with prose or fences around them, read as small models write JSON: trailing or missing
 * commas, single or curly quotes, quotes inside of strings, bare keys and words, Python's constants, comments, line breaks in strings, brackets
 * too many. A string or word that the text ends in is left out, since it may go on. Never throws; objects have no prototype.
 */
export function jsonIn(text: string): FoundJson {
  const reader = lenientReader(text);
  const values: unknown[] = [];
  for (let at = nextStart(text, 0); at >= 0; at = nextStart(text, reader.end())) values.push(reader.read(at));
  return { values, unclosed: reader.unclosed };
}

/** Nested deeper than this, brackets are passed over. */
const MAX_DEPTH = 32;
/** What stands for a value that the text ended in, or where none could be read. */
const NONE = Symbol('none');

const CLOSING: { readonly [quote: string]: string } = { '"': '"”“', "'": "'", '`': '`', '“': '”"“', '‘': "’'", '«': '»' };
const CONSTANTS: { readonly [word: string]: unknown } = { true: true, True: true, false: false, False: false, null: null, None: null };
const ESCAPES: { readonly [letter: string]: string } = { n: '\n', t: '\t', r: '\r', b: '\b', f: '\f' };

function nextStart(text: string, from: number): number {
  const at = text.slice(from).search(/[[{]/);
  return at < 0 ? -1 : from + at;
}

function lenientReader(text: string): { read(at: number): unknown; end(): number; unclosed: Set<object> } {
  let pos = 0;
  const unclosed = new Set<object>();

  function skip(pattern: RegExp): void {
    const sticky = new RegExp(pattern, 'y');
    sticky.lastIndex = pos;
    if (sticky.test(text)) pos = sticky.lastIndex;
  }
  const skipSpace = (): void => skip(/(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/);
  const skipCommas = (): void => skip(/(?:[\s,;]|\/\/[^\n]*|\/\*[^]*?\*\/)*/);

  function value(depth: number, inObject: boolean): unknown {
    skipSpace();
    const first = text[pos];
    if (first === undefined) return NONE;
    if (first === '{' || first === '[') {
      pos++;
      if (depth >= MAX_DEPTH) return NONE;
      return first === '{' ? object(depth + 1) : list(depth + 1);
    }
    if (CLOSING[first] !== undefined) return quoted(CLOSING[first]);
    return bare(inObject);
  }

  function list(depth: number): unknown[] {
    const items: unknown[] = [];
    for (;;) {
      skipCommas();
      if (pos >= text.length) {
        unclosed.add(items);
        return items;
      }
      if (text[pos] === ']') {
        pos++;
        return items;
      }
      const before = pos;
      const item = value(depth, false);
      if (item !== NONE) items.push(item);
      if (pos === before) pos++;
    }
  }

  function object(depth: number): { [key: string]: unknown } {
    const fields = Object.create(null) as { [key: string]: unknown };
    for (;;) {
      skipCommas();
      if (pos >= text.length) {
        unclosed.add(fields);
        return fields;
      }
      if (text[pos] === '}') {
        pos++;
        return fields;
      }
      // A list that ends here lacks this object's own bracket.
      if (text[pos] === ']') return fields;
      const before = pos;
      const key = keyHere();
      if (key !== undefined) {
        const read = value(depth, true);
        if (read !== NONE) fields[key] = read;
      }
      if (pos === before) pos++;
    }
  }

  /** The key that stands here, with its colon; undefined, and nothing but its text passed over, where it is none. */
  function keyHere(): string | undefined {
    const quotes = CLOSING[text[pos] as string];
    let key: unknown;
    if (quotes !== undefined) {
      key = quoted(quotes);
    } else {
      const word = /[\p{L}\p{N}_$-]+(?: [\p{L}\p{N}_$-]+){0,3}(?=\s*[:=])/uy;
      word.lastIndex = pos;
      key = word.exec(text)?.[0];
      if (typeof key === 'string') pos += key.length;
    }
    if (typeof key !== 'string') return undefined;
    skipSpace();
    if (text[pos] !== ':' && text[pos] !== '=') return undefined;
    skip(/[:=]>?/);
    return key;
  }

  function quoted(closing: string): unknown {
    let content = '';
    for (pos++; pos < text.length; pos++) {
      const letter = text[pos] as string;
      if (letter === '\\') {
        content += escaped();
      } else if (closing.includes(letter) && endsString(text, pos + 1)) {
        pos++;
        return content;
      } else {
        content += letter;
      }
    }
    return NONE;
  }

  /** At a backslash; leaves the position on the escape's last character. */
  function escaped(): string {
    const next = text[++pos] ?? '';
    const hex = next === 'u' ? /^[0-9a-fA-F]{4}/.exec(text.slice(pos + 1, pos + 5))?.[0] : undefined;
    if (hex === undefined) return ESCAPES[next] ?? next;
    pos += 4;
    return String.fromCharCode(Number.parseInt(hex, 16));
  }

  /** A constant or number; in an object any words up to the end of the field. */
  function bare(inObject: boolean): unknown {
    const words = /[^,;\]}\n[{]+/y;
    words.lastIndex = pos;
    const found = words.exec(text)?.[0];
    if (found === undefined) return NONE;
    const word = found.trim();
    const ended = pos + found.length < text.length;
    const isNumber = /^[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$/.test(word);
    if (!inObject && !isNumber && !Object.hasOwn(CONSTANTS, word)) return NONE;
    pos += found.length;
    if (!ended) return NONE;
    if (isNumber) return Number(word);
    return Object.hasOwn(CONSTANTS, word) ? CONSTANTS[word] : word;
  }

  return {
    unclosed,
    end: () => pos,
    read: (at) => {
      pos = at;
      return value(0, false);
    },
  };
}

/**
 * Whether a quote before this place ends its string: what follows is what may follow a string. Elsewhere it is a quote in a sentence.
 */
function endsString(text: string, at: number): boolean {
  const rest = text.slice(at, at + 80);
  return /^\s*(?:$|[:}\]]|[,;]\s*(?:$|["'`“‘«{[\]}]|[\w$-]+\s*[:=]|[-+]?\d|true|false|null|None|True|False|\/\/)|\n\s*["'`“‘«]|\/\/)/.test(
    rest,
  );
}
