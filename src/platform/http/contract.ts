// Checks in tests and development that handlers do what their routes declare. A mismatch becomes a 500.
import type { ErrorCode } from '../errors/catalogue.ts';
import { ServiceError } from '../errors/service-error.ts';
import type { Contract } from './handler.ts';
import { type HandlerResult, type Route, takesToken } from './route.ts';

/**
 * Codes that every route can answer. `invalid_request`: the request is no HTTP, or has a token in its query.
 * `not_found`: no tenant has the address.
 */
const EVERYWHERE: readonly ErrorCode[] = [
  'invalid_request',
  'not_found',
  'rate_limited',
  'request_timeout',
  'header_fields_too_large',
  'server_error',
  'temporarily_unavailable',
];

/** All codes that a route can answer: its own and those of the shell, each once. */
export function errorsOf(route: Route): ErrorCode[] {
  const { body } = route.request ?? {};
  const codes: ErrorCode[] = [];
  if (takesToken(route))
    codes.push(
      'invalid_token',
      'token_expired',
      'token_revoked',
      'insufficient_scope',
      'invalid_dpop_proof',
      'use_dpop_nonce',
    );
  if (!route.whileSuspended) codes.push('policy_denied');
  if (body !== undefined) codes.push('payload_too_large', 'unsupported_media_type');
  if (route.idempotent) codes.push('idempotency_in_progress', 'idempotency_key_reused');
  return [...new Set([...route.errors, ...codes, ...EVERYWHERE])];
}

/**
 * @param options.errors true: an undeclared error code becomes a 500, too
 * @returns checks that throw ServiceError `server_error`, whose cause names the route and the mismatch
 */
export function createContract(route: Route, options: { errors: boolean }): Contract {
  const declared = new Set(errorsOf(route));
  return {
    checkResult(result: HandlerResult): void {
      const response = route.responses[result.status];
      if (response === undefined) throw broken(route, `answered ${result.status}, which it does not declare`);
      const { schema } = response;
      if (schema === undefined) {
        if (result.body !== undefined && response.contentType === undefined)
          throw broken(route, `answered ${result.status} with a body, which it does not declare`);
        return;
      }
      const isText = typeof result.body === 'string' && response.contentType === undefined;
      const text = isText ? String(result.body) : JSON.stringify(result.body);
      const sent = text === undefined ? undefined : JSON.parse(text);
      const checked = schema.safeParse(sent);
      if (!checked.success)
        throw broken(route, `answered ${result.status} with another body than it declares: ${checked.error}`);
    },
    checkError(error: unknown): unknown {
      if (!options.errors || !(error instanceof ServiceError) || declared.has(error.code)) return error;
      return broken(route, `threw ${error.code}, which it does not declare`, error);
    },
  };
}

function broken(route: Route, what: string, cause?: unknown): ServiceError {
  return new ServiceError('server_error', { cause: new Error(`${route.operationId} ${what}`, { cause }) });
}
