// Records that delegations have expired. Each step is decided from the row in Postgres, so a repeated, late or needless
// request does no harm. Tokens do not depend on it, because their checks compare the expiry time.

import { type OperatorRequest, operatorContext, serviceContext, succeeded } from '../../audit/audit.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import type { DelegationService } from './delegation.service.ts';
import * as delegationStore from './delegation.store.ts';
import type { DelegationStatus } from './delegation.ts';
import type { DelegationName } from './delegation-expiry.store.ts';
import * as store from './delegation-expiry.store.ts';
import {
  type DelegationCase,
  type DelegationStep,
  decideDelegationStep,
  statusOf,
} from './delegation-expiry.ts';

export type { DelegationName } from './delegation-expiry.store.ts';

/** State of a delegation; `gone` means that it does not exist. `expiresAt` is ISO 8601. */
export type DelegationStanding = {
  readonly step: DelegationStep;
  readonly status: DelegationStatus | 'gone';
  readonly expiresAt: string | null;
};

/** Longest summary in characters, because Temporal accepts 400 bytes. */
const LONGEST_SUMMARY = 150;

export type DelegationExpiryNeeds = {
  database: Pick<Database, 'transaction' | 'query'>;
  tenants: Pick<TenantService, 'byId'>;
  delegations: Pick<DelegationService, 'revokeActive'>;
  records: Pick<RecordService, 'write'>;
};

/** Source: Specification, "Anchor and delegation". */
export class DelegationExpiryService extends Service<DelegationExpiryNeeds> {
  /** Returns how the delegation stands, and when it ends. */
  look = async (name: DelegationName): Promise<DelegationStanding> =>
    standingOf(await store.read(this.needs.database, name.tenantId, name.id));

  /** Describes a delegation for an operator: its scopes, its end and its agent, but not the user. */
  describe = async (name: DelegationName): Promise<{ summary: string; agentId: string } | undefined> => {
    const found = await store.read(this.needs.database, name.tenantId, name.id);
    if (found === undefined) return undefined;
    const until = found.expiresAt.toISOString().slice(0, 16);
    const scopes = found.scopes.join(' ').slice(0, LONGEST_SUMMARY);
    return { summary: `${scopes} · until ${until}Z`, agentId: found.agentId };
  };

  /** Records that a delegation has expired, with an audit entry, if it has. @returns the state afterwards */
  expire = async (name: DelegationName): Promise<DelegationStanding> => {
    const tenant = await this.needs.tenants.byId(name.tenantId);
    if (tenant === undefined) return standingOf(undefined);
    return this.needs.database.transaction({}, async (transaction) => {
      await delegationStore.lock(transaction, name.tenantId, name.id);
      const found = await store.read(transaction, name.tenantId, name.id);
      if (found === undefined || decideDelegationStep(found).kind !== 'expire') return standingOf(found);
      await store.markExpired(transaction, name.id);
      await this.needs.records.write(transaction, serviceContext(tenant, newId()), {
        audit: [
          succeeded(
            'delegation.expired',
            { type: 'delegation', id: name.id },
            { agent_id: found.agentId, expires_at: found.expiresAt.toISOString() },
          ),
        ],
      });
      return standingOf(await store.read(transaction, name.tenantId, name.id));
    });
  };

  /**
   * Revokes a delegation for an operator, who requested it through the delegation's workflow.
   * @param request `reason` is stored with the delegation and in the audit log
   * @throws ServiceError `not_found`, `conflict` for a delegation that is not active
   */
  revokeByOperator = async (
    name: DelegationName,
    request: OperatorRequest = {},
  ): Promise<DelegationStanding> => {
    const tenant = await this.needs.tenants.byId(name.tenantId);
    if (tenant === undefined) throw new ServiceError('not_found', { detail: 'There is no such tenant.' });
    const context = operatorContext(tenant, newId(), request);
    await this.needs.delegations.revokeActive(context, name.id, request.reason || undefined);
    return this.look(name);
  };
}

function standingOf(found: DelegationCase | undefined): DelegationStanding {
  if (found === undefined) return { step: { kind: 'end' }, status: 'gone', expiresAt: null };
  return {
    step: decideDelegationStep(found),
    status: statusOf(found),
    expiresAt: found.expiresAt.toISOString(),
  };
}
