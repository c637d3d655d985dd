// The shared parts of openapi.json: the error body with an example for each code, headers, parameters, security.
import { z } from 'zod';
import { ERRORS, type ErrorCode, publishErrors } from '../errors/catalogue.ts';
import { toProblem } from '../errors/problem.ts';
import { ServiceError } from '../errors/service-error.ts';
import { AGENT_SCOPES, APPLICATION_SCOPES, SCOPE_MEANINGS } from '../scopes.ts';
import type { JsonSchema } from './openapi-schemas.ts';
import type { Route } from './route.ts';

/** The error body. Source: Specification, "Errors: Format". */
export const problemSchema = z
  .object({
    type: z.url().describe('Identifies the kind of problem'),
    title: z.string(),
    status: z.int(),
    detail: z.string().describe('What was wrong with this request'),
    error: z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]).describe('The code to act on'),
    error_description: z.string(),
    request_id: z.string(),
    errors: z
      .array(z.object({ path: z.string(), message: z.string() }))
      .optional()
      .describe('The refused fields'),
  })
  .meta({ id: 'Problem', description: 'Problem details (RFC 7807) with the fields of RFC 6749 §5.2' });

export const SECURITY_SCHEMES: JsonSchema = {
  bearer: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: `An access token of the tenant that holds the scope. Agents hold ${AGENT_SCOPES.map((scope) => `\`${scope}\``).join(', ')}, applications these and the others. Nobody grants more than they hold.\n\n${APPLICATION_SCOPES.map((scope) => `- \`${scope}\`: ${SCOPE_MEANINGS[scope]}`).join('\n')}`,
  },
  dpop: {
    type: 'http',
    scheme: 'dpop',
    description:
      'An access token that is bound to a key, with a proof by that key in the DPoP header (RFC 9449 §7)',
  },
  basic: {
    type: 'http',
    scheme: 'basic',
    description: 'client_id and client_secret of an application, each form-encoded (RFC 6749 §2.3.1)',
  },
  dpop_proof: {
    type: 'apiKey',
    in: 'header',
    name: 'DPoP',
    description:
      'A proof of possession (RFC 9449 §4): the issued tokens are bound to its key. The first one is refused with `use_dpop_nonce`; the header `DPoP-Nonce` of that answer has the nonce for the next',
  },
};

/** The security scheme of signed client assertions; OpenAPI knows their kind only by the metadata that offers it. */
export function describeAssertions(publicUrl: string): JsonSchema {
  return {
    type: 'openIdConnect',
    openIdConnectUrl: `${publicUrl}/.well-known/openid-configuration`,
    description:
      '`private_key_jwt`: the form fields `client_assertion` and `client_assertion_type` hold a JWT that is signed with a key of the application (`jwks`), its `iss` and `sub` the client_id, its `aud` the issuer, each `jti` used once (RFC 7523 §2.2, §3)',
  };
}

export const PARAMETERS: JsonSchema = {
  'idempotency-key': {
    name: 'idempotency-key',
    in: 'header',
    description:
      "Makes the request repeatable for 24 hours: the same request with the same key gets the first answer, without secrets that are shown once, and `idempotency-replayed: true`. Another request with it is refused with 422, one that comes before the first has ended with 409. Keys are the caller's own: each tenant, principal (the token's subject) and route has its own, so that nobody meets an answer to somebody else",
    schema: { type: 'string', pattern: '^[\\x21-\\x7e]{1,255}$' },
  },
  'x-request-id': {
    name: 'x-request-id',
    in: 'header',
    description: 'Kept and repeated when it is 1 to 128 visible characters',
    schema: { type: 'string' },
  },
};

const HEADERS: Readonly<Record<string, string>> = {
  'x-request-id': "The request's id, for support and logs",
  ratelimit: 'What remains of each limit (r) and the seconds until it is whole again (t)',
  'ratelimit-policy': 'The limits (q) in a window of seconds (w)',
  'retry-after': 'Seconds to wait before the next attempt',
  'www-authenticate': 'How to authenticate (RFC 6750, RFC 7617)',
  allow: 'The methods of this address',
  'dpop-nonce': 'The nonce that the next DPoP proof needs (RFC 9449 §8)',
  'idempotency-replayed': '`true` when this is the kept answer of an earlier request',
  location: 'Address of what was made',
  link: 'Address of the receipt, with `rel="receipt"`; of an error, what to do about it, with `rel="help"`',
  etag: 'Version of the document, for If-None-Match',
  signature: 'Signatures of the answer (RFC 9421)',
  'signature-input': 'What each signature of the answer covers (RFC 9421)',
  'cache-control': 'How long the answer may be kept; `no-store` unless said',
  pragma: '`no-cache`, for caches of HTTP/1.0 (RFC 6749 §5.1)',
  warning: 'That the key is deprecated, and when it ends: `299 - "…"`',
  deprecation: 'Since when the key is deprecated: `@` and Unix seconds (RFC 9745)',
  sunset: 'When the key ends, as an HTTP date (RFC 8594)',
};

/** The groups of operations with what they are about, in the order of the routes. */
export function describeTags(routes: readonly Pick<Route, 'tag' | 'about'>[]): JsonSchema[] {
  const tags = new Map<string, string | undefined>();
  for (const { tag, about } of routes) tags.set(tag, tags.get(tag) ?? about);
  return [...tags].map(([name, description]) =>
    description === undefined ? { name } : { name, description },
  );
}

/** @param declared names of further headers that routes declare */
export function describeHeaders(declared: readonly string[]): JsonSchema {
  const names = new Set([...Object.keys(HEADERS), ...declared.map((name) => name.toLowerCase())]);
  return Object.fromEntries(
    [...names].map((name) => [
      name,
      { ...(HEADERS[name] ? { description: HEADERS[name] } : {}), schema: { type: 'string' } },
    ]),
  );
}

/** The example of a code that comes with this status: by its own name, unless it comes with others too. */
export function exampleName(code: ErrorCode, status: number): string {
  return status === ERRORS[code].status ? code : `${code}_${status}`;
}

/** One example of an error body for each code and status that it comes with. */
export function describeExamples(errorTypeBase: string): JsonSchema {
  const requestId = '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b';
  return Object.fromEntries(
    publishErrors().flatMap(({ code, statuses }) =>
      statuses.map((status) => [
        exampleName(code, status),
        { value: toProblem(failure(code, status), { errorTypeBase, requestId }).body },
      ]),
    ),
  );
}

function failure(code: ErrorCode, status: number): ServiceError {
  return new ServiceError(code, { atResource: status !== ERRORS[code].status });
}
