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
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    text = String(value);
  }
  return text.length > limit ? `${text.slice(0, limit)}…` : text;
}
