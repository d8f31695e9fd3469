/** Where in an outside input something stands; every part is optional, and only the given ones are printed. */
export interface Place {
  /** Path as the user gave it. */
  file?: string | undefined;
  /** Zero-based position of the record in its file. */
  row?: number | undefined;
  /** One-based line number. */
  line?: number | undefined;
  /** Path of the field inside the record, dots and brackets: `context[3][1]`. */
  field?: string | undefined;
  questionId?: string | undefined;
}

/** Bad usage or bad input: the command ends with exit code 2 and prints the message alone, without a stack. */
export class InputError extends Error {
  readonly place: Place;

  constructor(message: string, place: Place = {}) {
    super(placeText(place) === '' ? message : `${placeText(place)}: ${message}`);
    this.name = 'InputError';
    this.place = place;
  }
}

/** A profile, drafter or verifier was made for something else than what it is used with; names the first difference. Exit code 2. */
export class ProfileMismatchError extends InputError {
  readonly field: string;

  constructor(field: string, expected: string, got: string, hint: string, made = 'the profile') {
    super(`${field} differs: ${made} was made with ${expected}, this run uses ${got}; ${hint}`);
    this.name = 'ProfileMismatchError';
    this.field = field;
  }
}

/** A check did not hold (for example `--strict` with quarantined records): exit code 1. */
export class CheckFailedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'CheckFailedError';
  }
}

/**
 * Something that a run depends on gave out for now, such as a server or a disk, and not its input: exit code 1, and what the run has is kept,
 * so that `--resume` goes on.
 */
export class StoppedError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'StoppedError';
  }
}

export function placeText(place: Place): string {
  const parts: string[] = [];
  if (place.file !== undefined) parts.push(place.file);
  if (place.line !== undefined) parts.push(`line ${place.line}`);
  if (place.row !== undefined) parts.push(`row ${place.row}`);
  if (place.questionId !== undefined) parts.push(`question ${JSON.stringify(place.questionId)}`);
  if (place.field !== undefined) parts.push(`field ${place.field}`);
  return parts.join(', ');
}

/** A value as an error message shows it: JSON, at most `limit` characters. */
export function shown(value: unknown, limit = 80): string {
  const text = textOf(value);
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}

function textOf(value: unknown): string {
  try {
    const text = JSON.stringify(value) as string | undefined;
    if (text !== undefined) return text;
  } catch {
    // Nested too deeply, circular, or with a toJSON that throws: String() would go the same way down.
  }
  return (typeof value === 'object' && value !== null) || typeof value === 'function' ? 'a value that JSON cannot show' : String(value);
}

/** What the operating system says of a path, in words that follow its name. */
const SYSTEM_ERRORS: { readonly [code: string]: string } = {
  EACCES: 'no permission',
  EEXIST: 'is there already, and not of the kind that is needed',
  EISDIR: 'is a folder, expected a file',
  ELOOP: 'its symbolic links go in a circle',
  EMFILE: 'too many files are open at once',
  ENAMETOOLONG: 'the name is too long',
  ENOENT: 'no such file',
  ENOSPC: 'no space is left on the device',
  ENOTDIR: 'a part of the path is a file, expected a folder',
  ENOTEMPTY: 'is a folder that is not empty',
  EPERM: 'not permitted',
  EROFS: 'the file system is read-only',
};

/**
 * The InputError that stands for an error of the operating system (a missing file, a folder where a file belongs, no permission, a full
 * disk); anything else comes back as it is. `file` names the place where the error itself does not, or under another name.
 */
export function fromSystem(error: unknown, file?: string): unknown {
  if (!(error instanceof Error) || error instanceof InputError) return error;
  const { code, syscall, path } = error as NodeJS.ErrnoException;
  const words = typeof syscall === 'string' && code !== undefined ? SYSTEM_ERRORS[code] : undefined;
  return words === undefined ? error : new InputError(words, { file: file ?? path });
}
