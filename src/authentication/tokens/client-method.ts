// Chooses the method by which a request authenticates its client. A request with two methods is refused.
import type { Tenant } from '../../platform/context.ts';
import { invalidField, ServiceError } from '../../platform/errors/service-error.ts';
import type { ClientCredentials } from './basic-credentials.ts';
import type { TokenParameters } from './token-answer.ts';

/** The only type of client assertion (RFC 7523 §2.2). */
export const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';

/** Methods of client authentication, as listed in the issuer's metadata. */
export const CLIENT_METHODS = ['client_secret_basic', 'client_secret_post', 'private_key_jwt'] as const;

export type ClientMethod = (typeof CLIENT_METHODS)[number];

/** How a request authenticates its client: by a secret, or by a signed assertion. */
export type ChosenMethod =
  | { readonly method: Exclude<ClientMethod, 'private_key_jwt'>; readonly credentials: ClientCredentials }
  | { readonly method: 'private_key_jwt'; readonly assertion: string };

/** Algorithms of client assertions (FAPI 2.0 Security Profile, §5.4.1). */
const ASSERTION_ALGORITHMS = ['ES256', 'EdDSA', 'Ed25519', 'PS256'] as const;

/** Returns the algorithms that a tenant accepts. The profile `fapi2` excludes RS256, the default of many libraries. */
export function assertionAlgorithmsOf({
  securityProfile,
}: Pick<Tenant, 'securityProfile'>): readonly string[] {
  return securityProfile === 'fapi2' ? ASSERTION_ALGORITHMS : [...ASSERTION_ALGORITHMS, 'RS256'];
}

/** Returns the methods that a tenant accepts. Under the profile `fapi2` no secret authenticates (FAPI 2.0 §5.3.2.1). */
export function clientMethodsOf({
  securityProfile,
}: Pick<Tenant, 'securityProfile'>): readonly ClientMethod[] {
  return securityProfile === 'fapi2' ? ['private_key_jwt'] : CLIENT_METHODS;
}

/**
 * Chooses the method of client authentication. A secret may be in the form too (RFC 6749 §2.3.1), because libraries
 * that try both places show the second answer only.
 * @param credentials credentials of the `Authorization` header
 * @param tenant whose security profile may exclude a method
 * @throws ServiceError `invalid_request` for more than one method (RFC 6749 §2.3) and for a secret without a
 * `client_id`; `invalid_client` for no method, for an excluded one, and for an assertion that is incomplete or of
 * another type
 */
export function chooseMethod(
  parameters: TokenParameters,
  credentials: ClientCredentials | 'absent',
  tenant: Pick<Tenant, 'securityProfile'>,
): ChosenMethod {
  const { client_id, client_secret, client_assertion, client_assertion_type } = parameters;
  const hasAssertion = client_assertion !== undefined || client_assertion_type !== undefined;
  const ways = [credentials !== 'absent', hasAssertion, client_secret !== undefined].filter(Boolean).length;
  if (ways > 1)
    throw new ServiceError('invalid_request', { detail: 'Use one way of authenticating the client.' });
  if (tenant.securityProfile !== undefined && !hasAssertion && ways > 0)
    throw refuse(
      `The tenant's security profile is ${tenant.securityProfile}: the client must authenticate with private_key_jwt, not with a secret.`,
    );
  if (credentials !== 'absent') return { method: 'client_secret_basic', credentials };
  if (client_secret !== undefined) {
    if (client_id === undefined) throw invalidField('body.client_id', 'is missing beside client_secret');
    const inForm = { clientId: client_id, clientSecret: client_secret };
    return { method: 'client_secret_post', credentials: inForm };
  }
  if (!hasAssertion)
    throw refuse(
      'The client must authenticate with HTTP Basic, with client_id and client_secret, or with a client assertion.',
    );
  if (client_assertion_type !== ASSERTION_TYPE)
    throw refuse(`The client_assertion_type must be ${ASSERTION_TYPE}.`);
  if (client_assertion === undefined) throw refuse('The client_assertion is missing.');
  return { method: 'private_key_jwt', assertion: client_assertion };
}

function refuse(detail: string): ServiceError {
  return new ServiceError('invalid_client', { detail });
}
