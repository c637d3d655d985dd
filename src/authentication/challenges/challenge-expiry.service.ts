// Marks overdue challenges as expired and writes their number to the audit log. Requests do not depend on it, because
// they compare the expiry time of their challenge.

import { type AuditActor, type OperatorRequest, serviceContext } from '../../audit/audit.ts';
import type { Database } from '../../platform/database/database.ts';
import { newId } from '../../platform/database/ids.ts';
import { Service } from '../../platform/service.ts';
import type { RecordService } from '../../webhooks/intake/record.service.ts';
import * as store from './challenge-expiry.store.ts';
import type { Bucket, SettleResult, SweepResult } from './challenge-expiry.ts';

/** `heartbeat` reports that a sweep is running, `signal` aborts the sweep. */
export type Pulse = { readonly heartbeat: () => void; readonly signal: AbortSignal };

/** `chunk`: challenges in a transaction. `tenants`: audit entries in one. `budget`: milliseconds of a sweep. */
const SETTINGS = { chunk: 5_000, tenants: 5_000, budget: 10_000 } as const;

export type ExpiryNeeds = {
  database: Pick<Database, 'query' | 'transaction'>;
  records: Pick<RecordService, 'prepare' | 'writeBatch'>;
  settings?: Readonly<Partial<Record<keyof typeof SETTINGS, number>>> | undefined;
};

/** Source: Specification, "Challenge": a challenge that was not answered in time expires. */
export class ExpiryService extends Service<ExpiryNeeds> {
  readonly #settings = { ...SETTINGS, ...this.needs.settings };

  /** Marks all overdue challenges in chunks, one transaction each. A repeated call continues after the last chunk. */
  sweep = async ({ heartbeat, signal }: Pulse): Promise<SweepResult> => {
    const began = performance.now();
    for (let expired = 0; ; ) {
      signal.throwIfAborted();
      const result = await this.#markChunk();
      expired += result.expired;
      heartbeat();
      if (!result.more || performance.now() - began > this.#settings.budget)
        return { expired, more: result.more };
    }
  };

  /**
   * Writes a bucket's audit entries: for each tenant, the number of marked challenges that no earlier entry counts.
   * Each transaction writes the entries of some tenants, and a repeated call continues after the last tenant. A
   * bucket's entries are written once. Challenges that are marked later are counted by the next bucket.
   * @param asked the operator's request for a sweep before the end of the bucket
   * @returns the numbers of this call
   */
  settle = async (
    bucket: Bucket,
    asked?: OperatorRequest | undefined,
    pulse?: Pulse | undefined,
  ): Promise<SettleResult> => {
    const settled = { tenants: 0, challenges: 0 };
    for (;;) {
      pulse?.signal.throwIfAborted();
      const counts = (await this.#settleChunk(bucket, asked)) ?? [];
      settled.tenants += counts.length;
      settled.challenges += counts.reduce((sum, { expired }) => sum + expired, 0);
      pulse?.heartbeat();
      if (counts.length < this.#settings.tenants) return settled;
    }
  };

  /** Reads the database's clock, which determines the names of buckets. */
  readClock = (): Promise<Date> => store.readClock(this.needs.database);

  #markChunk = (): Promise<SweepResult> =>
    this.needs.database.transaction({}, async (unit) => {
      await store.lock(unit);
      return store.markNext(unit, this.#settings.chunk);
    });

  /** Writes the audit entries of the next tenants, all or none. @returns undefined when the bucket has no more */
  #settleChunk = ({ name, endsAt }: Bucket, asked: OperatorRequest | undefined) =>
    this.needs.database.transaction({}, async (unit) => {
      await store.lock(unit);
      const counts = await store.takeCounts(unit, endsAt, this.#settings.tenants);
      if (counts === null) return undefined;
      const requestId = newId();
      const actor: AuditActor =
        asked === undefined ? { kind: 'service' } : { kind: 'operator', id: asked.by };
      const reason = asked?.reason ? { reason: asked.reason } : {};
      const target = { type: 'challenge_expiry', id: name };
      const describe = ({ tenantId, expired }: store.ExpiredCount) => {
        const data = { count: expired, ...reason };
        return this.needs.records.prepare(serviceContext({ id: tenantId }, requestId), {
          audit: [{ action: 'auth.challenges_expired', outcome: 'success', actor, target, data }],
        });
      };
      await this.needs.records.writeBatch(unit, counts.map(describe));
      return counts;
    });
}
