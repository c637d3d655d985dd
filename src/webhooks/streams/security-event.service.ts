// Composes security event tokens for attempts and for receivers that poll. A token is signed anew each time, so it
// never carries the signature of a key that has been rotated or revoked.
import type { IssuerService } from '../../authentication/issuer/issuer.service.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
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

/** @param signer signs with the keys of security event tokens */
export function createSecurityEventService({
  tenants,
  signer,
}: {
  tenants: Pick<TenantService, 'byId'>;
  signer: Pick<IssuerService, 'sign'>;
}) {
  return {
    /**
     * Composes the token of a delivery; its `jti` is the delivery's id.
     * @returns a compact JWS
     * @throws when the keys cannot be read
     */
    compose: async ({ tenantId, deliveryId, ...delivery }: StreamDelivery): Promise<string> => {
      const tenant = await tenants.byId(tenantId);
      if (tenant === undefined) throw new Error(`there is no tenant ${tenantId}`);
      const claims = securityEventOf(delivery.body, {
        ...delivery,
        issuer: tenant.issuerUrl,
        jti: deliveryId,
      });
      if (claims === undefined) throw new Error(`the event of ${deliveryId} is no security event`);
      return signer.sign(tenant, claims, { typ: 'secevent+jwt' });
    },
  };
}

export type SecurityEventService = ReturnType<typeof createSecurityEventService>;
