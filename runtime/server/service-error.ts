/** Every refusal of the service, with its HTTP status. Clients tell them apart by the code; statuses are shared. */
export const ERROR_STATUS = {
  /** The HTTP request itself is not well formed. */
  bad_request: 400,
  /** The body is not UTF-8, or a text in it is not well-formed Unicode. */
  bad_encoding: 400,
  bad_json: 400,
  duplicate_key: 400,
  too_deep: 400,
  /** A field is missing, unknown or of another form. */
  invalid: 400,
  unauthorized: 401,
  /** The Host header is none of the service's: another name was bound to its address. */
  host_not_allowed: 403,
  not_found: 404,
  /** Never opened here, long ended, or lost with the process that had it. */
  session_unknown: 404,
  method_not_allowed: 405,
  session_exists: 409,
  /** An observation is not the next one, or repeats a step with other content. */
  step_conflict: 409,
  no_verdict_awaited: 409,
  /** Closed or expired a short while ago. */
  session_ended: 410,
  body_too_large: 413,
  unsupported_media_type: 415,
  /** Too many requests of one session wait for their turn. */
  session_busy: 429,
  rate_limited: 429,
  headers_too_large: 431,
  internal: 500,
  /** The decider failed, and the gate's `onError` is `throw`. */
  decider_failed: 502,
  too_many_sessions: 503,
  shutting_down: 503,
} as const;
export type ErrorCode = keyof typeof ERROR_STATUS;
export const ERROR_CODES = Object.keys(ERROR_STATUS) as [ErrorCode, ...ErrorCode[]];

/** The one shape of every error reply. */
export interface ErrorBody {
  error: { code: ErrorCode; message: string; field?: string; expected?: string; got?: string };
}

export interface ErrorPlace {
  /** Path inside the body, dots and brackets: `evidence[3].title`; a header or parameter by its name. */
  field?: string | undefined;
  expected?: string | undefined;
  got?: string | undefined;
  /** Seconds after which the same request may succeed. */
  retryAfter?: number | undefined;
}

/** A request that is refused, or failed: what the client is told. */
export class ServiceError extends Error {
  readonly code: ErrorCode;
  readonly place: ErrorPlace;

  constructor(code: ErrorCode, message: string, place: ErrorPlace = {}) {
    super(message);
    this.name = 'ServiceError';
    this.code = code;
    this.place = place;
  }

  get status(): number {
    return ERROR_STATUS[this.code];
  }

  get body(): ErrorBody {
    const { field, expected, got } = this.place;
    return {
      error: {
        code: this.code,
        message: this.message,
        ...(field !== undefined && { field }),
        ...(expected !== undefined && { expected }),
        ...(got !== undefined && { got }),
      },
    };
  }
}
