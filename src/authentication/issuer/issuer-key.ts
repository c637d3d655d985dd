// Types of issuer keys, the choice of the key that signs, and the sealing of private halves.
import type { SigningAlgorithm } from '../../platform/context.ts';
import type { RsaJwk, SigningCurveJwk } from '../../platform/crypto/jwk.ts';
import type { SealedColumn } from '../../platform/database/sealed-column.ts';
import type { IssuerKeyRow } from './issuer-key.model.ts';

/** RS256 is the algorithm of event keys, which sign security event tokens and nothing else. */
export type IssuerAlgorithm = SigningAlgorithm | 'RS256';

/** A published key (RFC 7517, RFC 7518 §6, RFC 8037 §2). `kid` is its RFC 7638 thumbprint (SHA-256, base64url). */
export type IssuerJwk = (SigningCurveJwk | RsaJwk) & {
  readonly kid: string;
  readonly alg: IssuerAlgorithm;
  readonly use: 'sig';
};

/**
 * A key as requests use it. `id` is its id in the revocation feed. `canSign`: activated, not revoked and not destroyed,
 * at the database's time of the read. A key of security events has none for deliveries.
 */
export type IssuerKey = Pick<
  IssuerKeyRow,
  'id' | 'kid' | 'algorithm' | 'publicJwk' | 'privateSealed' | 'deliveryJwk' | 'deliverySealed'
> & { readonly canSign: boolean; readonly isRevoked: boolean; readonly isActivated: boolean };

/** Returns the context of a sealed private key. The key can be opened only with the same tenant and key id. */
export function sealingContext(tenantId: string, kid: string): string {
  return `issuer-key:${tenantId}:${kid}`;
}

/** Returns the context of a sealed key for deliveries. @param kid of the issuer key that it belongs to */
export function deliveryContext(tenantId: string, kid: string): string {
  return `delivery-key:${tenantId}:${kid}`;
}

const sealedKeysOf = (
  table: string,
  column = 'private_sealed',
  contextOf: (tenantId: string, kid: string) => string = sealingContext,
): SealedColumn => ({
  table,
  column,
  name: 'kid',
  contextOf: ({ tenantId, name }) => contextOf(tenantId, name),
});

export const SEALED_ISSUER_KEYS: readonly SealedColumn[] = [
  sealedKeysOf('issuer_keys'),
  sealedKeysOf('issuer_keys', 'delivery_sealed', deliveryContext),
  sealedKeysOf('event_keys'),
];

/**
 * Chooses the key that signs now: of the keys that can sign, the key that was activated last. A key past `retireAt`
 * still signs when there is no later key.
 * @param keys the latest activation first
 */
export function selectSigningKey(keys: readonly IssuerKey[]): IssuerKey | undefined {
  return keys.find((key) => key.canSign);
}

/**
 * Chooses the keys that sign deliveries now: of the issuer key that was activated last, and of the one before it until
 * that is removed, a day later.
 * @param keys the latest activation first
 */
export function selectDeliveryKeys(
  keys: readonly IssuerKey[],
): readonly (Pick<IssuerKey, 'kid' | 'deliveryJwk'> & { readonly deliverySealed: Uint8Array })[] {
  return keys
    .filter(({ isActivated, isRevoked }) => isActivated && !isRevoked)
    .flatMap(({ kid, deliveryJwk, deliverySealed }) =>
      deliverySealed === null ? [] : [{ kid, deliveryJwk, deliverySealed }],
    )
    .slice(0, 2);
}
