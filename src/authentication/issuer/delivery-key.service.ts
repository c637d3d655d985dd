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
import { Service } from '../../platform/service.ts';
import type { PrepareSigner } from '../../webhooks/signing/tenant-signer.node.ts';
import type { IssuerService } from './issuer.service.ts';
import { deliveryContext, type IssuerJwk, selectDeliveryKeys } from './issuer-key.ts';

const KEPT = 10_000;

/** Source: Standard Webhooks 1.0, "Signature scheme" (asymmetric); RFC 7517, RFC 8037. */
export class DeliveryKeyService extends Service<{
  issuer: Pick<IssuerService, 'listKeys' | 'listPublished' | 'prepareSigning'>;
  tenants: Pick<TenantService, 'byId'>;
  masterKeys: readonly MasterKey[];
}> {
  // The id of an issuer key never gets another key for deliveries, so an opened key stays correct.
  readonly #opened = createBoundedCache<KeyObject>({ limit: KEPT });

  /** Prepares the signatures of a delivery. At most one query every 2 s. */
  prepare: PrepareSigner = async (tenantId) => {
    const tenant = await this.needs.tenants.byId(tenantId);
    if (tenant === undefined) throw new ServiceError('not_found', { detail: 'There is no such tenant.' });
    const keys = await this.#listSigning(tenant);
    return { issuer: tenant.issuerUrl, keys, sign: await this.needs.issuer.prepareSigning(tenant) };
  };

  /** Returns the JWK set for receivers: each unrevoked key that signs, will sign, or has signed until lately. */
  jwks = async (tenant: Pick<Tenant, 'id'>): Promise<{ keys: IssuerJwk[] }> => ({
    keys: (await this.needs.issuer.listPublished(tenant)).flatMap(({ deliveryJwk }) => deliveryJwk ?? []),
  });

  /** The keys that sign now: of the present issuer key, and of the one before during the overlap. */
  #listSigning = async (tenant: Tenant): Promise<KeyObject[]> =>
    selectDeliveryKeys(await this.needs.issuer.listKeys(tenant)).map(({ kid, deliveryJwk, deliverySealed }) =>
      this.#opened.get(kid, () =>
        openPrivateKey(
          openSecret(this.needs.masterKeys, deliveryContext(tenant.id, kid), deliverySealed),
          deliveryJwk,
        ),
      ),
    );
}
