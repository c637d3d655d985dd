// Suspends tenants and resumes them. A suspended tenant's tokens must never be good again; what waits for it may be lost to nothing but its
// age: deliveries are kept 30 days.

import type { RevocationService } from '../../authentication/tokens/revocation.service.ts';
import type { TenantRecord, TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import type { EndpointService } from '../../webhooks/endpoints/endpoint.service.ts';
import type { OperatorActService } from './operator-act.service.ts';
import type { OperatorIntent } from './operator-act.ts';

/** Suspension of whole tenants. */
export function createSuspensionService({
  database,
  tenants,
  revocations,
  endpoints,
  acts,
}: {
  database: Pick<Database, 'transaction'>;
  tenants: Pick<TenantService, 'setSuspended'>;
  revocations: Pick<RevocationService, 'endPrincipal' | 'admitPrincipal'>;
  endpoints: Pick<EndpointService, 'setTenantHeld'>;
  acts: Pick<OperatorActService, 'record'>;
}) {
  const change = (
    intent: OperatorIntent,
    slug: string,
    suspended: boolean,
  ): Promise<{ tenant: TenantRecord; changed: boolean }> =>
    database.transaction({}, async (transaction) => {
      const result = await tenants.setSuspended(transaction, slug, suspended);
      if (!result.changed) return result;
      const { id } = result.tenant;
      await revocations[suspended ? 'endPrincipal' : 'admitPrincipal'](transaction, id, id);
      const held = await endpoints.setTenantHeld(transaction, id, suspended);
      const target = { type: 'tenant', id } as const;
      const action = suspended ? 'tenant.suspended' : 'tenant.resumed';
      await acts.record(transaction, intent, { action, target, data: { slug, endpoints: held } }, [
        { tenantId: id },
      ]);
      return result;
    });

  return {
    /**
     * From the commit no delivery of the tenant begins an attempt; within a second every process refuses it with `policy_denied`, and its
     * tokens. What others need to refuse those (JWKS, metadata, introspection) stays. Events that the service itself emits still wait
     * for its receivers. What has waited for 30 days is canceled, as everywhere.
     * @returns the tenant, and whether anything changed: one that is suspended already stays as it is, and that is no act
     * @throws ServiceError `not_found`
     */
    suspend: (intent: OperatorIntent, slug: string) => change(intent, slug, true),

    /**
     * Serves the tenant again. Tokens of before stay ended; its deliveries go out, paced, the oldest first.
     * @returns as `suspend` @throws ServiceError `not_found`
     */
    resume: (intent: OperatorIntent, slug: string) => change(intent, slug, false),
  };
}

export type SuspensionService = ReturnType<typeof createSuspensionService>;
