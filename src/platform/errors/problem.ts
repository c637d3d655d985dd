// Turns a ServiceError into an HTTP answer: status, headers and body (RFC 7807 with OAuth fields).
// docs/decisions/0038-help-of-errors.md
import { ERRORS, statusOf } from './catalogue.ts';
import type { FieldError, ServiceError } from './service-error.ts';

/** The body of every error answer. Source: Specification, "Errors: Format". */
type Problem = {
  type: string;
  title: string;
  status: number;
  detail: string;
  error: string;
  error_description: string;
  request_id: string;
  errors?: readonly FieldError[];
};

/**
 * @param options.errorTypeBase base address of error type URIs, without a slash at its end
 * @param options.requestId id of the request, repeated in the body
 * @returns status, headers (without content-type) and body
 */
export function toProblem(
  error: ServiceError,
  options: { errorTypeBase: string; requestId: string },
): { status: number; headers: Record<string, string>; body: Problem } {
  const { title } = ERRORS[error.code];
  const status = statusOf(error.code, error.atResource);
  const detail = error.detail ?? `${title}.`;
  const headers: Record<string, string> = { ...error.headers };
  if (error.retryAfterSeconds !== undefined)
    headers['retry-after'] = String(Math.ceil(error.retryAfterSeconds));
  return {
    status,
    headers,
    body: {
      type: `${options.errorTypeBase}/${error.code.replaceAll('_', '-')}`,
      title,
      status,
      detail,
      error: error.code,
      error_description: describe(detail),
      request_id: options.requestId,
      ...(error.errors === undefined ? {} : { errors: error.errors }),
    },
  };
}

/** RFC 6749 §5.2 allows visible ASCII without quotation marks and backslashes. */
function describe(detail: string): string {
  return detail.replace(/["\\]/g, "'").replace(/[^\x20-\x7e]/gu, '?');
}
