// Checks the bearer token of a route and puts its principal into the context (RFC 6750). It must never log or repeat a token.
import type { Principal, Tenant } from '../context.ts';
import { ServiceError } from '../errors/service-error.ts';
import { LONGEST_TOKEN } from '../tokens/compact-jws.ts';
import { contextOf, countHeader, type Middleware } from './request-state.ts';
import type { Route } from './route.ts';

export type Authenticate = (tenant: Tenant, token: string) => Promise<Principal>;

const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const REPEATED = 'The Authorization header must be sent once.';
const INVALID = new Set(['invalid_token', 'token_expired', 'token_revoked']);

/**
 * Lets a request through whose token is valid for this tenant and holds the route's scope.
 * @param authenticate gives the token's principal, or throws ServiceError `invalid_token`, `token_expired`, `token_revoked` or
 *   `insufficient_scope` (another audience)
 */
export function authorize(route: Route, authenticate: Authenticate): Middleware {
  const { scope } = route;
  if (scope === null) return route.clientAuthentication ? refuseRepeatedHeader : (_ctx, next) => next();
  return async (ctx, next) => {
    const context = contextOf(ctx);
    const challenge = `Bearer realm="${context.tenant.issuerUrl}"`;
    const header = ctx.req.headers.authorization;
    if (header !== undefined && countHeader(ctx, 'authorization') > 1)
      throw refused('invalid_request', REPEATED, challenge);
    const token = header === undefined ? undefined : bearerToken(header);
    if (token === undefined)
      throw new ServiceError('invalid_token', {
        detail: 'A bearer token is required in the Authorization header.',
        headers: { 'www-authenticate': challenge },
      });
    if (token.length > LONGEST_TOKEN || !TOKEN.test(token))
      throw refused('invalid_token', 'The access token is malformed.', challenge);
    const principal = await authenticate(context.tenant, token).catch((error: unknown) => {
      throw withChallenge(error, challenge, scope);
    });
    if (!principal.scopes.includes(scope))
      throw withChallenge(
        new ServiceError('insufficient_scope', { detail: `The token lacks the scope ${scope}.` }),
        challenge,
        scope,
      );
    ctx.state.context = { ...context, principal };
    try {
      await next();
    } catch (error) {
      throw isLateRefusal(error) ? withChallenge(error, challenge) : error;
    }
  };
}

/** What a service finds lacking is refused as the shell refuses it. */
function isLateRefusal(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'insufficient_scope';
}

/** Client authentication is the service's; which of two headers it would see is Node's choice. */
const refuseRepeatedHeader: Middleware = (ctx, next) => {
  if (ctx.req.headers.authorization !== undefined && countHeader(ctx, 'authorization') > 1)
    throw new ServiceError('invalid_request', { detail: REPEATED });
  return next();
};

/** The credentials of the Bearer scheme; undefined for any other scheme. */
function bearerToken(header: string): string | undefined {
  if (header.slice(0, 7).toLowerCase() !== 'bearer ') return undefined;
  return header.slice(7).trim();
}

function refused(code: 'invalid_request' | 'invalid_token', detail: string, challenge: string): ServiceError {
  return new ServiceError(code, {
    detail,
    headers: { 'www-authenticate': `${challenge}, error="${code}", error_description="${detail}"` },
  });
}

/** Adds the challenge of RFC 6750 §3. The header says `invalid_token` for every bad token; only the body tells which. */
function withChallenge(error: unknown, challenge: string, scope?: string): unknown {
  if (!(error instanceof ServiceError)) return error;
  const attributes = INVALID.has(error.code)
    ? ', error="invalid_token"'
    : error.code === 'insufficient_scope'
      ? `, error="insufficient_scope"${scope === undefined ? '' : `, scope="${scope}"`}`
      : undefined;
  if (attributes === undefined) return error;
  return new ServiceError(error.code, {
    detail: error.detail,
    cause: error.cause,
    headers: { 'www-authenticate': challenge + attributes, ...error.headers },
  });
}
