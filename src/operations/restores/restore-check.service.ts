// What a restored database needs: before anything serves, ids and single use; afterwards, workflows and the audit log.
// docs/decisions/0050-restores.md

import type { ConsoleCodeService } from '../../authentication/console/code.service.ts';
import type { TenantService } from '../../identity/tenants/tenant.service.ts';
import type { Database } from '../../platform/database/database.ts';
import { pendingMigrations } from '../../platform/database/migrate.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { ServiceError } from '../../platform/errors/service-error.ts';
import { Service } from '../../platform/service.ts';
import type { OperatorActService } from '../operators/operator-act.service.ts';
import type { OperatorIntent } from '../operators/operator-act.ts';
import * as store from './restore.store.ts';
import { MOST_CONSUMED, planIds } from './restore.ts';

/** `since` is the restored moment, `usedUntil` the last id of before the restore, where an operator knows them. */
export type Asked = { readonly since?: Date | undefined; readonly usedUntil?: number | undefined };

/** What was done to a restored database before anything serves; `doneAt`: by an earlier run, and nothing now. */
export type Preparation = {
  readonly restoredTo: Date;
  readonly doneAt?: Date;
  readonly ids: number;
  readonly tenants: number;
  readonly codes: number;
};

export class RestoreCheckService extends Service<{
  database: Pick<Database, 'query' | 'transaction'>;
  /** Finds tables whose rows are ahead of the cluster's transaction ids, and by how many. */
  findAhead: (queryable: Queryable) => Promise<readonly { readonly missing: number }[]>;
  tenants: Pick<TenantService, 'endEarlier'>;
  consoleCodes: Pick<ConsoleCodeService, 'removeAll'>;
  acts: Pick<OperatorActService, 'record'>;
}> {
  /**
   * Raises the transaction ids above those of the lost time, and ends what could be used twice. An operator act
   * records it. A repetition does nothing; without `since` only until Postgres is started anew.
   * @param onConsumed receives how many ids are consumed so far, of how many
   * @throws ServiceError `invalid_request` naming the option that is wrong or needed; `conflict` before `migrate`,
   * and while an api or a worker is connected
   */
  prepare = async (
    intent: OperatorIntent,
    { since, usedUntil }: Asked,
    onConsumed: (done: number, of: number) => void = () => undefined,
  ): Promise<Preparation> => {
    const pending = await pendingMigrations(this.needs.database);
    if (pending.length > 0)
      throw new ServiceError('conflict', {
        detail: 'The database is older than this version: countersign migrate first.',
      });
    const { database: name, now } = await store.identify(this.needs.database);
    const earlier = await store.findEarlier(this.needs.database, name, since);
    if (earlier !== undefined)
      return { restoredTo: earlier.restoredTo, doneAt: earlier.at, ids: 0, tenants: 0, codes: 0 };
    await this.#refuseWhileServed();
    const restoredTo = await this.#readRestoredTo(since, now);
    const lostSeconds = (now.getTime() - restoredTo.getTime()) / 1_000;
    const ids = await this.#raiseIds({ lostSeconds, restoredTo, usedUntil }, onConsumed);
    return this.needs.database.transaction({}, async (unit) => {
      const ended = await this.needs.tenants.endEarlier(unit);
      const codes = await this.needs.consoleCodes.removeAll(unit);
      const data = { restored_to: restoredTo.toISOString() };
      await this.needs.acts.record(
        unit,
        intent,
        {
          action: store.RESTORED,
          target: { type: 'service', id: 'restore-check' },
          data: { ...data, database: name, ids },
        },
        ended.map((tenantId) => ({ tenantId })),
      );
      return { restoredTo, ids, tenants: ended.length, codes };
    });
  };

  /** Returns whether a worker is connected, without which workflows cannot be mended. */
  hasWorker = async (): Promise<boolean> =>
    (await store.listConnected(this.needs.database)).includes('worker');

  #countMissing = async () =>
    Math.max(0, ...(await this.needs.findAhead(this.needs.database)).map(({ missing }) => missing));

  #readRestoredTo = async (since: Date | undefined, now: Date): Promise<Date> => {
    const restoredTo = since ?? (await store.readRestoredTo(this.needs.database));
    if (restoredTo === null) throw wrong('--since: is needed, because this database is empty');
    if (restoredTo > now) throw wrong('--since: is a time to come');
    return restoredTo;
  };

  /** A database that nobody has restored would lose the sessions and refresh tokens of all tenants. */
  #refuseWhileServed = async (): Promise<void> => {
    const connected = await store.listConnected(this.needs.database);
    if (connected.length > 0)
      throw new ServiceError('conflict', {
        detail: `Connected: ${connected.join(', ')}. Before they start after a restore, this ends what all tenants have begun; a database that was not restored does not need it.`,
      });
  };

  #raiseIds = async (
    asked: { lostSeconds: number; restoredTo: Date; usedUntil: number | undefined },
    onConsumed: (done: number, of: number) => void,
  ): Promise<number> => {
    const state = {
      ...(await store.readIds(this.needs.database, asked.restoredTo)),
      missing: await this.#countMissing(),
    };
    const count = planIds(state, asked);
    if (count > MOST_CONSUMED)
      throw wrong(
        `--used-until: is needed, because ${count} transaction ids are too many to consume: raise the epoch first, docs/operations/backup.md#a-dump-in-a-new-cluster`,
      );
    let done = 0;
    for (; done < count; done += store.IDS_AT_ONCE) {
      onConsumed(done, count);
      await store.consumeIds(this.needs.database);
    }
    return done;
  };
}

const wrong = (detail: string) => new ServiceError('invalid_request', { detail });
