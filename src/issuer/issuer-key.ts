// What an issuer key is: its public form and the times of its life. It must never hold a private key.
import type { SigningAlgorithm } from '../context.ts';

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

/** `canSign`: active and not retired, by the database's clock. `privateSealed`: PKCS #8 DER under a master key. */
export type IssuerKey = {
  readonly kid: string;
  readonly algorithm: SigningAlgorithm;
  readonly publicJwk: IssuerJwk;
  readonly privateSealed: Uint8Array;
  readonly canSign: boolean;
};

/**
 * Seconds for which a new key is published before it signs: longer than the 300 s for which JWKS answers may be cached, and
 * the clocks' differences.
 */
export const PUBLISHED_AHEAD_SECONDS = 600;

/** What a sealed private key belongs to: it opens for this tenant and key only. */
export function sealingContext(tenantId: string, kid: string): string {
  return `issuer-key:${tenantId}:${kid}`;
}

/** The key that signs now: of the active ones, the one that was activated last. @param keys the latest activation first */
export function selectSigningKey(keys: readonly IssuerKey[]): IssuerKey | undefined {
  return keys.find((key) => key.canSign);
}
