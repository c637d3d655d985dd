// What an issuer key is: its public form, and which of several signs. Private keys are sealed here.
import type { SigningAlgorithm } from '../../platform/context.ts';
import type { SealedColumn } from '../../platform/database/sealed-column.ts';

/** A published key (RFC 7517, RFC 7518 §6.2.1, RFC 8037 §2). `kid` is its RFC 7638 thumbprint (SHA-256, base64url). */
export type IssuerJwk = {
  readonly kty: 'EC' | 'OKP';
  readonly crv: 'P-256' | 'Ed25519';
  readonly x: string;
  readonly y?: string;
  readonly kid: string;
  readonly alg: SigningAlgorithm;
  readonly use: 'sig';
};

/**
 * A key as requests need it. `id`: what the revocation feed calls it. `privateSealed`: PKCS #8 DER under a master key,
 * null once it is destroyed. `canSign`: activated, not revoked, and its private half is there, by the database's clock
 * when it was read.
 */
export type IssuerKey = {
  readonly id: string;
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly publicJwk: IssuerJwk;
  readonly privateSealed: Uint8Array | null;
  readonly canSign: boolean;
  readonly isRevoked: boolean;
};

/** What a sealed private key belongs to: it opens for this tenant and key only. */
export function sealingContext(tenantId: string, kid: string): string {
  return `issuer-key:${tenantId}:${kid}`;
}

/** Where private halves are kept. */
export const SEALED_ISSUER_KEYS: SealedColumn = {
  table: 'issuer_keys',
  column: 'private_sealed',
  name: 'kid',
  contextOf: ({ tenantId, name }) => sealingContext(tenantId, name),
};

/**
 * The key that signs now: of those that can, the one that was activated last. A time at which a key should retire does
 * not count: without a later key it is the only one.
 * @param keys the latest activation first
 */
export function selectSigningKey(keys: readonly IssuerKey[]): IssuerKey | undefined {
  return keys.find((key) => key.canSign);
}
