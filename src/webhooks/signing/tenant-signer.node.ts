// The type of what signs deliveries with a tenant's own keys. The issuer's room makes one.
// docs/decisions/0025-delivery-signatures.md
import type { KeyObject } from 'node:crypto';

/** `keys` are ed25519 private keys, two during the overlap of a rotation. `sign` returns a compact JWS. */
export type TenantSigner = {
  readonly issuer: string;
  readonly keys: readonly KeyObject[];
  readonly sign: (claims: object, options: { typ: string }) => string;
};

/** Prepares the signer of a tenant; its keys are at most 2 s old. */
export type PrepareSigner = (tenantId: string) => Promise<TenantSigner>;
