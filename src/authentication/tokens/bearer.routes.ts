// Middleware that checks the access token of a request and stores its principal in the context (RFC 6750, RFC 9449 §7).
import { ACCESS_REFUSAL, type AccessRecordService } from '../../audit/access-record.service.ts';
import type { Principal, Tenant } from '../../platform/context.ts';
import { LONGEST_TOKEN } from '../../platform/crypto/jws.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import {
  type Context,
  contextOf,
  countHeader,
  headerValues,
  type Middleware,
} from '../../platform/http/request-state.ts';
import { type Route, takesToken } from '../../platform/http/route.ts';
import { holdsScope } from '../../platform/scopes.ts';
import type { DpopService } from '../dpop/dpop.service.ts';
import { PROOF_ALGORITHMS } from '../dpop/proof-key.ts';
import type { Presentation } from './access-token.ts';
import { resourceMetadataUrl } from './resource-metadata.ts';

type Authenticate = (
  tenant: Tenant,
  token: string,
  presentation?: Presentation | undefined,
) => Promise<Principal>;

type Proofs = Pick<DpopService, 'verifyProof'>;

type Scheme = 'bearer' | 'dpop';

const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
const REPEATED = 'The Authorization header must be sent once.';
const INVALID = new Set(['invalid_token', 'token_expired', 'token_revoked']);

/** The challenges of both schemes (RFC 6750 §3, RFC 9449 §7.1), with the address of the metadata (RFC 9728 §5.1). */
function challengesOf({ issuerUrl }: Tenant): Readonly<Record<Scheme, string>> {
  const metadata = `resource_metadata="${resourceMetadataUrl(issuerUrl)}"`;
  return {
    bearer: `Bearer realm="${issuerUrl}", ${metadata}`,
    dpop: `DPoP algs="${PROOF_ALGORITHMS.join(' ')}", ${metadata}`,
  };
}

/** The challenges of a request that has no token. */
function offered(tenant: Tenant, hasProofs: boolean): string {
  const { bearer, dpop } = challengesOf(tenant);
  return hasProofs ? `${bearer}, ${dpop}` : bearer;
}

function describeMissingToken(header: string | undefined, issuerUrl: string): string {
  const form = header === undefined ? '' : ', in the form "Bearer <token>", and this one has another form';
  return `A bearer token is required in the Authorization header${form}; POST ${issuerUrl}/oauth/token with client credentials gives one.`;
}

/**
 * Accepts a request whose token is valid for this tenant and has the scope and the kind of subject that the route
 * requires. A token that is bound to a key needs a proof by that key for this request.
 * @param authenticate returns the principal of the token, or throws ServiceError `invalid_token`, `token_expired`,
 * `token_revoked` or `insufficient_scope` (another audience)
 * @param proofs when absent, the only scheme is Bearer
 * @param accesses records requests of a valid token that lacks a scope
 */
export function authorize(
  route: Route,
  authenticate: Authenticate,
  proofs?: Proofs | undefined,
  accesses?: Pick<AccessRecordService, 'note'> | undefined,
): Middleware {
  const { scope, anyAudience, delegated } = route;
  if (!takesToken(route)) return route.clientAuthentication ? refuseRepeatedHeader : (_ctx, next) => next();
  return async (ctx, next) => {
    const context = contextOf(ctx);
    const header = ctx.req.headers.authorization;
    const [scheme, token] = readCredentials(header, proofs !== undefined);
    const challenge = () => challengesOf(context.tenant)[scheme];
    if (header !== undefined && countHeader(ctx, 'authorization') > 1)
      throw refused('invalid_request', REPEATED, challenge());
    if (token === undefined)
      throw new ServiceError('invalid_token', {
        detail: describeMissingToken(header, context.tenant.issuerUrl),
        headers: { 'www-authenticate': offered(context.tenant, proofs !== undefined) },
      });
    if (token.length > LONGEST_TOKEN || !TOKEN.test(token))
      throw refused('invalid_token', 'The access token is malformed.', challenge());
    const identify = () =>
      authenticate(context.tenant, token, { scheme, anyAudience, delegated }).catch((error: unknown) => {
        throw withChallenge(error, challenge(), scope);
      });
    const principal = await identify();
    if (route.holds) ctx.state.authenticateAgain = identify;
    if (scheme === 'dpop' && proofs !== undefined) await prove(ctx, proofs, { text: token, principal });
    const identified = { ...context, principal };
    const refuse = (error: ServiceError, needed: string | null) => {
      accesses?.note(identified, {
        ...ACCESS_REFUSAL,
        operation: route.operationId,
        reason: error.code,
        data: { detail: error.detail ?? '' },
      });
      return withChallenge(error, challenge(), needed);
    };
    const lacking = findLacking(route, principal);
    if (lacking !== undefined)
      throw refuse(new ServiceError('insufficient_scope', { detail: lacking }), scope);
    ctx.state.context = identified;
    try {
      await next();
    } catch (error) {
      throw isLateRefusal(error) ? refuse(error, null) : error;
    }
  };
}

/**
 * Verifies the proof of a request whose token is bound to a key, and sets the header with the next nonce.
 * @throws ServiceError `invalid_dpop_proof`, `use_dpop_nonce` with status 401 and a challenge (RFC 9449 §7.1, §9)
 */
async function prove(
  ctx: Context,
  proofs: Proofs,
  { text, principal }: { text: string; principal: Principal },
): Promise<void> {
  try {
    const { nonce } = await proofs.verifyProof(contextOf(ctx), {
      proofs: headerValues(ctx, 'dpop'),
      method: ctx.method,
      path: ctx.state.path,
      accessToken: { text, jkt: principal.jkt ?? '' },
    });
    ctx.res.setHeader('dpop-nonce', nonce);
  } catch (error) {
    if (!(error instanceof ServiceError)) throw error;
    if (error.code !== 'invalid_dpop_proof' && error.code !== 'use_dpop_nonce') throw error;
    const attributes = `error="${error.code}", error_description="${error.detail ?? ''}"`;
    throw error.withHeaders(
      { 'www-authenticate': `${challengesOf(contextOf(ctx).tenant).dpop}, ${attributes}` },
      true,
    );
  }
}

/** Returns the scope or kind of subject that the principal lacks, as a text for people; undefined if none. */
function findLacking({ scope, subject }: Route, { kind, scopes }: Principal): string | undefined {
  if (scope !== null && !holdsScope(scopes, scope)) return `The token lacks the scope ${scope}.`;
  if (subject !== undefined && kind !== subject) return `The token is not of an ${subject}.`;
  return undefined;
}

/** Returns whether a service refused the token for a missing scope. The answer equals that of a refusal here. */
function isLateRefusal(error: unknown): error is ServiceError {
  return error instanceof ServiceError && error.code === 'insufficient_scope';
}

/** Refuses a repeated `Authorization` header, because Node would silently use only one of the values. */
const refuseRepeatedHeader: Middleware = (ctx, next) => {
  if (ctx.req.headers.authorization !== undefined && countHeader(ctx, 'authorization') > 1)
    throw new ServiceError('invalid_request', { detail: REPEATED });
  return next();
};

/** Splits the header into scheme and token. For an unknown scheme the token is undefined. */
function readCredentials(
  header: string | undefined,
  hasProofs: boolean,
): [scheme: Scheme, token: string | undefined] {
  const space = header?.indexOf(' ') ?? -1;
  const scheme = header?.slice(0, Math.max(space, 0)).toLowerCase();
  // RFC 9110 §11.4 allows only spaces between scheme and token.
  const token = header?.slice(space + 1).replace(/^ +/, '');
  if (scheme === 'dpop' && hasProofs) return ['dpop', token];
  return ['bearer', scheme === 'bearer' ? token : undefined];
}

function refused(code: 'invalid_request' | 'invalid_token', detail: string, challenge: string): ServiceError {
  return new ServiceError(code, {
    detail,
    headers: { 'www-authenticate': `${challenge}, error="${code}", error_description="${detail}"` },
  });
}

/** Adds the challenge of RFC 6750 §3. The header always says `invalid_token`; the body gives the exact reason. */
function withChallenge(error: unknown, challenge: string, scope: string | null = null): unknown {
  if (!(error instanceof ServiceError)) return error;
  const attributes = INVALID.has(error.code)
    ? ', error="invalid_token"'
    : error.code === 'insufficient_scope'
      ? `, error="insufficient_scope"${scope === null ? '' : `, scope="${scope}"`}`
      : undefined;
  if (attributes === undefined) return error;
  return new ServiceError(error.code, {
    detail: error.detail,
    cause: error.cause,
    headers: { 'www-authenticate': challenge + attributes, ...error.headers },
  });
}
