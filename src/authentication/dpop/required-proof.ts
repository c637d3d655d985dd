// Who gets tokens only with a proof of a key: by its own metadata (RFC 9449 §5.2) or by the tenant's profile (FAPI
// 2.0).
// docs/decisions/0026-proof-of-possession.md
import type { Tenant } from '../../platform/context.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';

/** An application or an agent that a token is for. */
export type BoundHolder = { readonly dpopBoundAccessTokens: boolean } | undefined;

/**
 * Returns why a token that is bound to no key must not be issued, as a text for people; undefined when it may be.
 * @param holders the client and the agent of the token
 */
export function findNeedOfProof(
  { securityProfile }: Pick<Tenant, 'securityProfile'>,
  ...holders: readonly BoundHolder[]
): string | undefined {
  if (securityProfile !== undefined)
    return `A DPoP proof is required: the tenant's security profile is ${securityProfile}.`;
  const isBound = holders.some((holder) => holder?.dpopBoundAccessTokens === true);
  return isBound ? 'A DPoP proof is required (dpop_bound_access_tokens).' : undefined;
}

/**
 * Refuses a token without a key to bind it to where one is required.
 * @param key the key that the request has proved @throws ServiceError `invalid_dpop_proof`
 */
export function checkProofGiven(
  key: { readonly jkt: string } | undefined,
  tenant: Pick<Tenant, 'securityProfile'>,
  ...holders: readonly BoundHolder[]
): void {
  const need = key === undefined ? findNeedOfProof(tenant, ...holders) : undefined;
  if (need !== undefined) throw new ServiceError('invalid_dpop_proof', { detail: need });
}
