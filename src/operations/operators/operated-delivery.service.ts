// Operator acts on one delivery of any tenant. The change and its act are committed together.

import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import type { DeliveryService, DeliveryStep } from '../../webhooks/deliveries/delivery.service.ts';
import type { DeliveryDetails, DeliveryRecord } from '../../webhooks/deliveries/delivery.ts';
import type { OperatorActService } from './operator-act.service.ts';
import type { OperatorIntent } from './operator-act.ts';

export type OperatedDeliveryResult = {
  readonly tenantId: string;
  readonly delivery: DeliveryRecord;
  readonly changed: boolean;
};

export class OperatedDeliveryService extends Service<{
  database: Pick<Database, 'transaction' | 'query'>;
  deliveries: Pick<DeliveryService, 'findTenantId' | 'findOfTenant' | 'actOn'>;
  acts: Pick<OperatorActService, 'record'>;
}> {
  /** Reads a delivery with its body and its attempts. @throws ServiceError `not_found` */
  show = async (id: string): Promise<{ tenantId: string; delivery: DeliveryDetails }> => {
    const tenantId = await this.needs.deliveries.findTenantId(this.needs.database, id);
    return { tenantId, delivery: await this.needs.deliveries.findOfTenant(tenantId, id) };
  };

  /**
   * Makes an unfinished delivery due now, or replays an ended one.
   * @throws ServiceError `not_found`, `conflict` when the subscription is deleted
   */
  retry = (intent: OperatorIntent, id: string) => this.#change(intent, id, 'retry');

  /**
   * Cancels a delivery; for a canceled one nothing changes, and no act is recorded.
   * @throws ServiceError `not_found`, `conflict` when it was delivered or has failed
   */
  cancel = (intent: OperatorIntent, id: string) => this.#change(intent, id, 'cancel');

  #change = (intent: OperatorIntent, id: string, step: DeliveryStep): Promise<OperatedDeliveryResult> =>
    this.needs.database.transaction({}, async (transaction) => {
      const tenantId = await this.needs.deliveries.findTenantId(transaction, id);
      const { before, after, action } = await this.needs.deliveries.actOn(
        transaction,
        { tenantId, id },
        step,
      );
      if (action === undefined) return { tenantId, delivery: after, changed: false };
      const data = { subscription_id: before.subscriptionId, event_id: before.eventId };
      await this.needs.acts.record(transaction, intent, { action, target: { type: 'delivery', id }, data }, [
        { tenantId },
      ]);
      return { tenantId, delivery: after, changed: true };
    });
}
