// The one error that the agent throws: a refusal of the service by its code, or a failure on the way to it.

/**
 * Codes that are not the service's: it could not be reached, answered nothing that can be read, or the key is unfit.
 */
export type LocalErrorCode = 'unreachable' | 'unexpected_answer' | 'invalid_key';

/**
 * `code` is the `error` of the service's answer (docs/errors.md), such as `invalid_scope` or `policy_denied`, or a
 * LocalErrorCode. `status` is the answer's status, and absent where there was none.
 */
export class AgentError extends Error {
  override readonly name = 'AgentError';
  readonly code: string;
  readonly status: number | undefined;
  /** The seconds of `Retry-After`, where the service sent it. */
  readonly retryAfterSeconds: number | undefined;
  /** The id of the request in the service's log. */
  readonly requestId: string | undefined;

  constructor(
    code: string,
    message: string,
    details: {
      status?: number | undefined;
      retryAfterSeconds?: number | undefined;
      requestId?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(message, { cause: details.cause });
    this.code = code;
    this.status = details.status;
    this.retryAfterSeconds = details.retryAfterSeconds;
    this.requestId = details.requestId;
  }
}
