// Ends and restores tenants. A tenant that ends is suspended; it can be restored for 30 days, and is erased afterwards.
// docs/decisions/0045-erasure.md

import type { TenantRecord, TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { WorkflowCommandService } from '../../platform/temporal/workflow-command.service.ts';
import type { OperatorActService } from '../operators/operator-act.service.ts';
import type { OperatorIntent } from '../operators/operator-act.ts';
import type { SuspensionService } from '../operators/suspension.service.ts';
import * as store from './tenant-end.store.ts';

/** `eraseAt` is null when the tenant does not end. */
export type EndResult = {
  readonly tenant: TenantRecord;
  readonly eraseAt: Date | null;
  readonly changed: boolean;
};

export type TenantEndNeeds = {
  database: Pick<Database, 'transaction'>;
  tenants: Pick<TenantService, 'lock'>;
  suspensions: Pick<SuspensionService, 'suspend' | 'resume'>;
  acts: Pick<OperatorActService, 'record'>;
  commands: Pick<WorkflowCommandService, 'add'>;
};

export class TenantEndService extends Service<TenantEndNeeds> {
  /**
   * Ends a tenant: it is suspended, and erased after 30 days.
   * @returns the tenant, when it is erased, and whether it changed: of one that ends already nothing does
   * @throws ServiceError `not_found`
   */
  end = (intent: OperatorIntent, slug: string): Promise<EndResult> =>
    this.needs.database.transaction({}, async (transaction) => {
      const { tenant, changed } = await this.needs.suspensions.suspend(intent, slug, { transaction });
      const isNew = await store.begin(transaction, tenant.id, !changed);
      const eraseAt = (await store.read(transaction, tenant.id))?.eraseAt ?? null;
      if (isNew) await this.#record(transaction, intent, tenant, 'tenant.ended', { erase_at: eraseAt });
      return { tenant, eraseAt, changed: isNew };
    });

  /**
   * Takes the end of a tenant back. It is served again, unless it was suspended before it ended; its tokens stay ended.
   * @returns as `end`
   * @throws ServiceError `not_found`; `conflict` when its time is over
   */
  restore = (intent: OperatorIntent, slug: string): Promise<EndResult> =>
    this.needs.database.transaction({}, async (transaction) => {
      const tenant = await this.needs.tenants.lock(transaction, slug);
      const taken = await store.takeBack(transaction, tenant.id);
      if (taken === undefined) {
        if (await store.isEnding(transaction, tenant.id))
          throw new ServiceError('conflict', {
            detail: 'The time to restore it is over: it is being erased.',
          });
        return { tenant, eraseAt: null, changed: false };
      }
      const resumed = taken.wasSuspended
        ? undefined
        : await this.needs.suspensions.resume(intent, slug, { transaction });
      await this.#record(transaction, intent, tenant, 'tenant.restored', {});
      return { tenant: resumed?.tenant ?? tenant, eraseAt: null, changed: true };
    });

  #record = async (
    transaction: Transaction,
    intent: OperatorIntent,
    { id, slug }: TenantRecord,
    action: string,
    data: Readonly<Record<string, unknown>>,
  ): Promise<void> => {
    await this.needs.commands.add(transaction, [{ tenantId: id, workflow: 'tenantErasure', entityId: id }]);
    const target = { type: 'tenant', id } as const;
    await this.needs.acts.record(transaction, intent, { action, target, data: { slug, ...data } }, [
      { tenantId: id },
    ]);
  };
}
