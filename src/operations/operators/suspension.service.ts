// Suspends and resumes tenants. A suspension ends the tenant's tokens for ever. Waiting deliveries are kept, at most 30
// days as always.

import type { RevocationService } from '../../authentication/tokens/revocation.service.ts';
import { allTokensEnded } from '../../events/ended-tokens.ts';
import type { TenantRecord, TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { EndpointService } from '../../webhooks/endpoints/endpoint.service.ts';
import type { OperatorActService } from './operator-act.service.ts';
import type { OperatorIntent } from './operator-act.ts';

type Join = { readonly transaction?: Transaction | undefined };

export class SuspensionService extends Service<{
  database: Pick<Database, 'transaction'>;
  tenants: Pick<TenantService, 'setSuspended'>;
  revocations: Pick<RevocationService, 'endPrincipal' | 'admitPrincipal'>;
  endpoints: Pick<EndpointService, 'setTenantHeld'>;
  acts: Pick<OperatorActService, 'record'>;
  isEnding: (unit: Transaction, tenantId: string) => Promise<boolean>;
}> {
  /**
   * Suspends a tenant. After the commit no attempt for the tenant begins; within a second every process refuses its
   * requests and tokens with `policy_denied`. JWKS, metadata and introspection stay available, because others need
   * them to refuse these tokens. Events that the service emits wait for the tenant's receivers. Deliveries that have
   * waited for 30 days are canceled, as for every tenant.
   * @param join the transaction to use; without it the call begins one
   * @returns the tenant, and whether it changed: for a suspended tenant nothing changes, and no act is recorded
   * @throws ServiceError `not_found`
   */
  suspend = (intent: OperatorIntent, slug: string, join: Join = {}) => this.#change(intent, slug, true, join);

  /**
   * Resumes a tenant. Earlier tokens stay ended; waiting deliveries are attempted at a limited rate, the oldest
   * first.
   * @returns like `suspend`
   * @throws ServiceError `not_found`; `conflict` for a tenant that ends
   */
  resume = (intent: OperatorIntent, slug: string, join: Join = {}) => this.#change(intent, slug, false, join);

  #change = (
    intent: OperatorIntent,
    slug: string,
    suspended: boolean,
    join: Join,
  ): Promise<{ tenant: TenantRecord; changed: boolean }> =>
    this.needs.database.transaction(join, async (transaction) => {
      const result = await this.needs.tenants.setSuspended(transaction, slug, suspended);
      if (!result.changed) return result;
      const { id } = result.tenant;
      if (!suspended && (await this.needs.isEnding(transaction, id)))
        throw new ServiceError('conflict', {
          detail: 'The tenant ends: `operator tenant restore` takes that back.',
        });
      if (suspended) await this.needs.revocations.endPrincipal(transaction, id, id);
      else await this.needs.revocations.admitPrincipal(transaction, id, id);
      const held = await this.needs.endpoints.setTenantHeld(transaction, id, suspended);
      const target = { type: 'tenant', id } as const;
      const action = suspended ? 'tenant.suspended' : 'tenant.resumed';
      const ended = allTokensEnded({ kind: 'tenant', id }, suspended ? 'ever' : 'now', action);
      await this.needs.acts.record(transaction, intent, { action, target, data: { slug, endpoints: held } }, [
        { tenantId: id, events: [ended] },
      ]);
      return result;
    });
}
