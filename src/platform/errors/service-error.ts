// The one error that services throw on purpose. Its `cause` goes to the log and not into an answer.
import type { ErrorCode } from './catalogue.ts';

/** One refused part of the input: `path` in dotted form (`body.public_key`, `query.limit`), `message` for a person. */
export type FieldError = { readonly path: string; readonly message: string };

/** Details of a failure beside its code. */
type ServiceErrorDetails = {
  /** The fault of this request, for a person; becomes `detail` and `error_description`. */
  readonly detail?: string | undefined;
  readonly cause?: unknown;
  readonly errors?: readonly FieldError[] | undefined;
  /** Further response headers, for example `www-authenticate`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Becomes `Retry-After`, whole seconds. */
  readonly retryAfterSeconds?: number | undefined;
  /** The request presented an access token, which gives some codes another status; see `statusOf`. */
  readonly atResource?: boolean | undefined;
};

/** What a refused client receives from a limit: when to try again, and the header fields of the limit. */
export type LimitReached = Pick<ServiceErrorDetails, 'retryAfterSeconds' | 'headers'>;

/** An expected failure with a stable code; the catalogue gives it its status. Source: Specification, "Errors". */
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

  /** The same failure with further response headers, which come before its own. */
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

/** `invalid_request` for one field: `path` names it, `message` describes its fault. */
export function invalidField(path: string, message: string): ServiceError {
  return new ServiceError('invalid_request', { detail: `${path}: ${message}`, errors: [{ path, message }] });
}
