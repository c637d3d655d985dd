// The error class for expected failures. Its `cause` is logged and never part of an answer.
import type { ErrorCode } from './catalogue.ts';

/**
 * One refused part of the input. `path` has dotted form (`body.public_key`, `query.limit`); `message` is for a person.
 */
export type FieldError = { readonly path: string; readonly message: string };

type ServiceErrorDetails = {
  /** The fault of this request, for a person; becomes `detail` and `error_description`. */
  readonly detail?: string | undefined;
  readonly cause?: unknown;
  readonly errors?: readonly FieldError[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Becomes `Retry-After`, in whole seconds. */
  readonly retryAfterSeconds?: number | undefined;
  /** True when the request presented an access token, which changes the status of some codes; see `statusOf`. */
  readonly atResource?: boolean | undefined;
};

/** The answer of an exceeded limit: seconds until the next try, and the header fields of the limit. */
export type LimitReached = Pick<ServiceErrorDetails, 'retryAfterSeconds' | 'headers'>;

/** Counts failures under a key. `blocked` is set from the first failure beyond the limit. */
export type FailureCounter = {
  failed(key: string): Promise<{ readonly blocked: LimitReached | undefined }>;
};

/** An expected failure with a stable code, whose status is in the catalogue. Source: Specification, "Errors". */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly code: ErrorCode;
  readonly detail: string | undefined;
  readonly errors: readonly FieldError[] | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly retryAfterSeconds: number | undefined;
  readonly atResource: boolean;

  constructor(code: ErrorCode, details: ServiceErrorDetails = {}) {
    super(details.detail ?? code, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = code;
    this.detail = details.detail;
    this.errors = details.errors;
    this.headers = details.headers ?? {};
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.atResource = details.atResource ?? false;
  }

  /** The same failure with further response headers, in front of its own headers. */
  withHeaders(headers: Readonly<Record<string, string>>, atResource = this.atResource): ServiceError {
    const { code, detail, cause, errors, retryAfterSeconds } = this;
    return new ServiceError(code, {
      detail,
      cause,
      errors,
      retryAfterSeconds,
      atResource,
      headers: { ...headers, ...this.headers },
    });
  }
}

/** `temporarily_unavailable`, to be tried again after a second. */
export function tryAgain(detail: string, cause?: unknown): ServiceError {
  return new ServiceError('temporarily_unavailable', { detail, cause, retryAfterSeconds: 1 });
}

/** The most characters of a path in an answer, because the sender chooses the names of unknown fields. */
const LONGEST_PATH = 120;

/** Cuts the path of a field, so that an answer does not repeat a long name, and replaces its control characters. */
export function cutPath(path: string): string {
  const shown = path.slice(0, LONGEST_PATH + 1).replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, '\uFFFD');
  if (path.length <= LONGEST_PATH) return shown;
  const kept = shown.slice(0, LONGEST_PATH);
  // Half of a character that needs two places is none.
  return `${kept.replace(/[\uD800-\uDBFF]$/, '')}…`;
}

/** `invalid_request` for one field: `path` names it, `message` describes its fault. */
export function invalidField(path: string, message: string): ServiceError {
  const name = cutPath(path);
  return new ServiceError('invalid_request', {
    detail: `${name}: ${message}`,
    errors: [{ path: name, message }],
  });
}
