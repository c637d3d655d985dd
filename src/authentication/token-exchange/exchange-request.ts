// Reads the form parameters of a token exchange. It does not read the tokens.
import { ServiceError } from '../../platform/errors/service-error.ts';
import { ACTOR_TYPES, ISSUED_TOKEN_TYPE, SUBJECT_TYPES } from '../tokens/grant-types.ts';

/** Greatest length of a target in characters, as for a tenant's audience. */
const LONGEST_TARGET = 500;

/** A well-formed request. Without `scope` or `target`, the service chooses them. */
export type ExchangeRequest = {
  readonly subjectToken: string;
  readonly subjectTokenType: string;
  readonly actorToken: string;
  readonly actorTokenType: string;
  readonly scope?: string | undefined;
  readonly target?: string | undefined;
};

/**
 * Reads the parameters of a token exchange (RFC 8693 §2.1). An actor token is required, because the service supports
 * delegation and not impersonation. Only access tokens for one target are issued.
 * @param parameters by name, each at most once; an empty parameter counts as absent
 * @throws ServiceError `invalid_request` for a missing parameter, an unknown type, or a type without its token;
 * `invalid_target` for a `resource` that is not an absolute URI without fragment (RFC 8707 §2), a malformed `audience`,
 * or two different targets
 */
export function readExchangeRequest(
  parameters: Readonly<Record<string, string | undefined>>,
): ExchangeRequest {
  const { subject_token, subject_token_type, actor_token, actor_token_type, requested_token_type } =
    parameters;
  if (actor_token_type !== undefined && actor_token === undefined)
    throw refuse('actor_token_type', 'must not be there without actor_token');
  const request = {
    subjectToken: required('subject_token', subject_token),
    subjectTokenType: required('subject_token_type', subject_token_type),
    actorToken: required('actor_token', actor_token),
    actorTokenType: required('actor_token_type', actor_token_type),
  };
  oneOf('subject_token_type', request.subjectTokenType, SUBJECT_TYPES);
  oneOf('actor_token_type', request.actorTokenType, ACTOR_TYPES);
  if (requested_token_type !== undefined)
    oneOf('requested_token_type', requested_token_type, [ISSUED_TOKEN_TYPE]);
  return {
    ...request,
    scope: parameters.scope,
    target: readTarget(parameters.resource, parameters.audience),
  };
}

function required(name: string, value: string | undefined): string {
  if (value === undefined || value === '') throw refuse(name, 'is required');
  return value;
}

function oneOf(name: string, value: string, allowed: readonly string[]): void {
  if (!allowed.includes(value)) throw refuse(name, `must be ${allowed.join(' or ')}`);
}

function readTarget(resource: string | undefined, audience: string | undefined): string | undefined {
  if (resource !== undefined && !isResource(resource))
    throw badTarget('The resource must be an absolute URI without a fragment.');
  if (audience !== undefined && (audience.length > LONGEST_TARGET || !/^[^\s\p{Cc}\p{Cs}]+$/u.test(audience)))
    throw badTarget('The audience is malformed.');
  if (resource !== undefined && audience !== undefined && resource !== audience)
    throw badTarget('A token has one audience; ask for one target.');
  return resource ?? audience;
}

function isResource(text: string): boolean {
  return (
    text.length <= LONGEST_TARGET && /^[\x21-\x7e]+$/.test(text) && !text.includes('#') && URL.canParse(text)
  );
}

function refuse(name: string, message: string): ServiceError {
  return new ServiceError('invalid_request', {
    detail: `${name} ${message}.`,
    errors: [{ path: `body.${name}`, message }],
  });
}

function badTarget(detail: string): ServiceError {
  return new ServiceError('invalid_target', { detail });
}
