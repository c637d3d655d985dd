// Types of trusted issuers, and the rule for changes of their source of keys.
import { invalidField } from '../../platform/errors/service-error.ts';
import type { Given } from '../../platform/given.ts';
import type { TrustedJwk } from './jwk-set.ts';
import type { TrustedIssuerRow } from './trusted-issuer.model.ts';

export type InlineJwks = { readonly keys: readonly TrustedJwk[] };

/** An issuer whose users' tokens a tenant accepts. Exactly one of `jwksUri` and `jwks` is not null. */
export type TrustedIssuer = TrustedIssuerRow;

/** An issuer whose keys were fetched, and from where. */
export type FetchedIssuer = Pick<TrustedIssuer, 'id' | 'tenantId'> & { readonly jwksUri: string };

type KeySource = Pick<TrustedIssuer, 'jwksUri' | 'jwks'>;

/** Source of the keys. In a change, null removes a source and an absent field keeps it. */
export type KeySourceInput = Given<KeySource>;

/**
 * Returns the source of keys after a change. A new source replaces the other source, and a new address has not been
 * fetched from.
 * @param present the current source; none for a new issuer
 * @throws ServiceError `invalid_request` when both sources are given, or none remains
 */
export function chooseKeySource(
  change: KeySourceInput,
  present: KeySource = { jwksUri: null, jwks: null },
): KeySource & { readonly fetchedAt?: null; readonly fetchError?: null } {
  const source = sourceAfter(change, present);
  return source.jwksUri === present.jwksUri ? source : { ...source, fetchedAt: null, fetchError: null };
}

function sourceAfter(change: KeySourceInput, present: KeySource): KeySource {
  const named = { jwksUri: change.jwksUri ?? null, jwks: change.jwks ?? null };
  if (named.jwksUri !== null && named.jwks !== null)
    throw invalidField('body.jwks', 'must not be there beside jwks_uri');
  if (named.jwksUri !== null || named.jwks !== null) return named;
  const left = {
    jwksUri: change.jwksUri === undefined ? present.jwksUri : null,
    jwks: change.jwks === undefined ? present.jwks : null,
  };
  if (left.jwksUri === null && left.jwks === null)
    throw invalidField('body.jwks_uri', 'is required, unless jwks is there');
  return left;
}

/** Where the keys of one issuer are, of users' tokens or of workloads' assertions. */
export type IssuerAddress = Pick<TrustedIssuer, 'id' | 'tenantId' | 'issuer'> & {
  readonly kind: 'trusted issuer' | 'workload issuer';
  readonly uri: string;
};
