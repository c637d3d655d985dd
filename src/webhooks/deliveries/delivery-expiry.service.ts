// Cancels unfinished deliveries that are older than the time for which deliveries are kept.

import { serviceContext } from '../../audit/audit.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../intake/record.service.ts';
import * as store from './delivery-expiry.store.ts';

/** Source: Specification, "Delivery": deliveries are kept 30 days, whether they ended or wait. */
export class DeliveryExpiryService extends Service<{
  database: Pick<Database, 'transaction'>;

  records: Pick<RecordService, 'prepare' | 'writeBatch'>;
  onWork: () => void;
}> {
  /**
   * Cancels unfinished deliveries that are older than `days`, with one audit entry for each tenant.
   * @returns how many, at most `limit`; fewer when there are no more, or when other transactions have locked the rest
   */
  expire = async (days: number, limit: number): Promise<number> =>
    this.needs.database.transaction({}, async (unit) => {
      const expired = await store.expire(unit, days, limit);
      const describe = ({ tenantId, count }: { tenantId: string; count: number }) =>
        this.needs.records.prepare(serviceContext({ id: tenantId }, newId()), {
          audit: [
            { action: 'webhook.deliveries_expired', outcome: 'success', data: { count, after_days: days } },
          ],
        });
      await this.needs.records.writeBatch(unit, expired.map(describe));
      if (expired.length > 0) unit.afterCommit(this.needs.onWork);
      return expired.reduce((sum, { count }) => sum + count, 0);
    });
}
