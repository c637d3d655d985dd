// Records operator acts. A change and its act are committed together.
// docs/decisions/0019-operators.md

import type { EmittedEvent } from '../../events/event.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import * as store from './operator-act.store.ts';
import type { OperatorAct, OperatorDeed, OperatorIntent, RecordState } from './operator-act.ts';

export type Concerned = {
  readonly tenantId: string;
  readonly data?: Readonly<Record<string, unknown>> | undefined;
  readonly events?: readonly EmittedEvent[] | undefined;
};

export class OperatorActService extends Service<{
  database: Pick<Database, 'query' | 'transaction'>;

  records: Pick<RecordService, 'timeOf' | 'prepare' | 'writeBatch'>;
}> {
  /**
   * Records an act in the caller's transaction: as a row here, and in the audit log of each tenant concerned, with
   * the name of the operator. Call it last in a transaction, because it makes other acts wait until the commit.
   * @returns the number of the act, which each audit entry names as `act`
   */
  record = async (
    unit: Queryable,
    intent: OperatorIntent,
    deed: OperatorDeed,
    concerned: readonly Concerned[],
  ): Promise<number> => {
    const act = await store.insert(unit, { ...intent, ...deed }, concerned.length);
    const requestId = newId();
    const { operator, reason } = intent;
    const { action, target } = deed;
    const actor = { kind: 'operator', id: operator } as const;
    const time = await this.needs.records.timeOf(
      unit,
      concerned.flatMap(({ events = [] }) => events),
    );
    const describe = ({ tenantId, data, events }: Concerned) =>
      this.needs.records.prepare(
        { requestId, tenant: { id: tenantId }, address: 'local', actor },
        {
          audit: [{ action, outcome: 'success', target, data: { reason, act, ...deed.data, ...data } }],
          events,
        },
        time,
      );
    await this.needs.records.writeBatch(unit, concerned.map(describe));
    return act;
  };

  /** Records an act that is already done and concerns no tenant. @returns its number */
  recordAlone = (intent: OperatorIntent, deed: OperatorDeed): Promise<number> =>
    this.needs.database.transaction({}, (transaction) => this.record(transaction, intent, deed, []));

  /**
   * @returns the newest acts, the newest first, and whether the log is complete and unaltered (an owner of the
   *   database can change it)
   */
  list = async (limit: number): Promise<{ acts: OperatorAct[] } & RecordState> => ({
    acts: await store.list(this.needs.database, limit),
    ...(await store.examine(this.needs.database)),
  });
}
