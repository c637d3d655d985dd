// The keys with which a tenant signs deliveries. Each belongs to an issuer key and begins and ends with it, so that the
// workflow that rotates issuer keys rotates them too. No token is ever signed or verified with one.
// docs/decisions/0025-delivery-signatures.md
import type { KeyObject } from 'node:crypto';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { Tenant } from '../../platform/context.ts';
import { openPrivateKey } from '../../platform/crypto/private-key.node.ts';
import { type MasterKey, openSecret } from '../../platform/crypto/secret-box.node.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import type { PrepareSigner } from '../../webhooks/signing/tenant-signer.node.ts';
import type { IssuerService } from './issuer.service.ts';
import { deliveryContext, type IssuerJwk, selectDeliveryKeys } from './issuer-key.ts';

const KEPT = 10_000;

/** Source: Standard Webhooks 1.0, "Signature scheme" (asymmetric); RFC 7517, RFC 8037. */
export function createDeliveryKeyService({
  issuer,
  tenants,
  masterKeys,
}: {
  issuer: Pick<IssuerService, 'listKeys' | 'listPublished' | 'prepareSigning'>;
  tenants: Pick<TenantService, 'byId'>;
  masterKeys: readonly MasterKey[];
}) {
  // The id of an issuer key never gets another key for deliveries, so an opened key stays correct.
  const opened = createBoundedCache<KeyObject>({ limit: KEPT });

  /** The keys that sign now: of the present issuer key, and of the one before during the overlap. */
  async function listSigning(tenant: Tenant): Promise<KeyObject[]> {
    return selectDeliveryKeys(await issuer.listKeys(tenant)).map(({ kid, deliveryJwk, deliverySealed }) =>
      opened.get(kid, () =>
        openPrivateKey(openSecret(masterKeys, deliveryContext(tenant.id, kid), deliverySealed), deliveryJwk),
      ),
    );
  }

  const prepare: PrepareSigner = async (tenantId) => {
    const tenant = await tenants.byId(tenantId);
    if (tenant === undefined) throw new ServiceError('not_found', { detail: 'There is no such tenant.' });
    const keys = await listSigning(tenant);
    return { issuer: tenant.issuerUrl, keys, sign: await issuer.prepareSigning(tenant) };
  };

  return {
    /** Prepares the signatures of a delivery. At most one query every 2 s. */
    prepare,

    /** Returns the JWK set for receivers: each unrevoked key that signs, will sign, or has signed until lately. */
    jwks: async (tenant: Pick<Tenant, 'id'>): Promise<{ keys: IssuerJwk[] }> => ({
      keys: (await issuer.listPublished(tenant)).flatMap(({ deliveryJwk }) => deliveryJwk ?? []),
    }),
  };
}

export type DeliveryKeyService = ReturnType<typeof createDeliveryKeyService>;
