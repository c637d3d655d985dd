// Composes security event tokens for attempts and for receivers that poll. No token carries the signature of a key that
// has been rotated or revoked: it is signed for each attempt, and for polls again when the key changes.

import type { IssuerService } from '../../authentication/issuer/issuer.service.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import { createBoundedCache } from '../../platform/bounded-cache.ts';
import type { Tenant } from '../../platform/context.ts';
import { Service } from '../../platform/service.ts';
import { securityEventOf } from './security-event.ts';

/** A delivery of a stream. `at`: the time of the attempt in Unix milliseconds; `body`: of the event. */
export type StreamDelivery = {
  readonly tenantId: string;
  readonly streamId: string;
  readonly audience: string;
  readonly deliveryId: string;
  readonly body: Uint8Array;
  readonly at: number;
};

/** The most signed tokens in memory that a receiver may poll again. A token has about a kilobyte. */
const KEPT = 5_000;

export class SecurityEventService extends Service<{
  tenants: Pick<TenantService, 'byId'>;
  /** Signs with the keys of security event tokens. */
  signer: Pick<IssuerService, 'sign' | 'signingKeyId'>;
}> {
  readonly #kept = createBoundedCache<Promise<string>>({ limit: KEPT });

  /**
   * Composes the token of a delivery; its `jti` is the delivery's id.
   * @returns a compact JWS
   * @throws when the keys cannot be read
   */
  compose = async (delivery: StreamDelivery): Promise<string> =>
    this.#sign(await this.#readTenant(delivery.tenantId), delivery);

  /** Like `compose`, but gives the token of an earlier call again while the same key signs. */
  composeOnce = async (delivery: StreamDelivery): Promise<string> => {
    const tenant = await this.#readTenant(delivery.tenantId);
    const name = `${delivery.deliveryId} ${await this.needs.signer.signingKeyId(tenant)} ${tenant.issuerUrl}`;
    const token = this.#kept.get(name, () => this.#sign(tenant, delivery));
    return token.catch((error: unknown) => {
      this.#kept.forget(name);
      throw error;
    });
  };

  #readTenant = async (id: string): Promise<Tenant> => {
    const tenant = await this.needs.tenants.byId(id);
    if (tenant === undefined) throw new Error(`there is no tenant ${id}`);
    return tenant;
  };

  #sign = async (tenant: Tenant, { deliveryId, ...delivery }: StreamDelivery): Promise<string> => {
    const claims = securityEventOf(delivery.body, {
      ...delivery,
      issuer: tenant.issuerUrl,
      jti: deliveryId,
    });
    if (claims === undefined) throw new Error(`the event of ${deliveryId} is no security event`);
    return this.needs.signer.sign(tenant, claims, { typ: 'secevent+jwt' });
  };
}
