// Deletes data past its retention time, in small chunks with pauses, so that traffic is not slowed. Unfinished
// deliveries are kept.
// docs/decisions/0014-retention.md

import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.ts';
import { KEPT_DAYS } from '../../platform/database/kept-days.ts';
import { dropPartition, ensurePartitions, listOldPartitions } from '../../platform/database/partitions.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { Service } from '../../platform/service.ts';
import type { AccountService } from '../../webhooks/accounts/account.service.ts';
import type { DeliveryExpiryService } from '../../webhooks/deliveries/delivery-expiry.service.ts';
import type { keepsDay } from '../../webhooks/rows/removal.store.ts';
import type { StepResult } from './retention.ts';
import type { Pieces } from './tenant-retention.service.ts';

/** Deletes at most `limit` overdue rows. @returns how many */
export type Purge = (queryable: Queryable, limit: number) => Promise<number>;

/** `heartbeat` reports that a step is alive; `signal` stops the step. */
export type Pulse = { readonly heartbeat: () => void; readonly signal: AbortSignal };

/** `chunk`: rows that one statement deletes. `budget`: milliseconds that one call of a step may take. */
const SETTINGS = { chunk: 1_000, budget: 60_000 } as const;

export type RetentionNeeds = {
  database: Pick<Database, 'query'>;
  expiry: Pick<DeliveryExpiryService, 'expire'>;
  accounts: Pick<AccountService, 'countDue' | 'countDay' | 'closeDay'>;
  /** Of ended deliveries and of events, RETENTION_DAYS: no tenant keeps them for longer. */
  days: number;
  keepsDay: typeof keepsDay;
  noteEventsGone: (database: Queryable, tenantId: string | undefined, days: number) => Promise<void>;
  /** By the name that an operator sees; each deletes in chunks. */
  purges: Readonly<Record<string, Purge>>;
  ofTenants?: Readonly<Record<string, Pieces>> | undefined;
  settings?: { readonly chunk: number; readonly budget: number } | undefined;
};

export class RetentionService extends Service<RetentionNeeds> {
  /** Makes the partitions of the next days. */
  makePartitions = async (): Promise<StepResult> => ({
    count: await ensurePartitions(this.needs.database),
    more: false,
  });

  /** Counts the deliveries of each day whose account is due. */
  countAccounts = async (pulse: Pulse): Promise<StepResult> => ({
    count: await this.needs.accounts.countDue(KEPT_DAYS, pulse),
    more: false,
  });

  /**
   * Drops the partitions of overdue days, after a last count of the deliveries of the day. A day with an unfinished
   * delivery, or one that cannot be locked, stays for the next run.
   */
  dropPartitions = async (pulse: Pulse): Promise<StepResult> => {
    const kept = new Set<string>();
    let count = 0;
    const { accounts, days } = this.needs;
    const old = await listOldPartitions(this.needs.database, days);
    // The feed refuses cursors from before the events that are left, also when RETENTION_DAYS is raised later.
    if (old.length > 0) await this.needs.noteEventsGone(this.needs.database, undefined, days);
    for (const { parent, day, attached } of old) {
      pulse.signal.throwIfAborted();
      pulse.heartbeat();
      if (kept.has(day)) continue;
      if (parent === 'deliveries' && attached) {
        if (await this.needs.keepsDay(this.needs.database, day)) {
          kept.add(day);
          continue;
        }
        await accounts.countDay(day, pulse);
      }
      const outcome = await dropPartition(this.needs.database, { parent, day }, () => accounts.closeDay(day));
      if (outcome === 'dropped') count += 1;
      else if (outcome !== 'gone') kept.add(day);
    }
    return { count, more: false };
  };

  /** @param place of the call before */
  purge = (name: string, pulse: Pulse, place?: string): Promise<StepResult> => {
    const remove = this.needs.purges[name];
    const pieces = remove
      ? chunksOf((limit) => remove(this.needs.database, limit))
      : this.needs.ofTenants?.[name];
    return pieces
      ? this.#inChunks((limit) => pieces(limit, place), pulse)
      : Promise.resolve({ count: 0, more: false });
  };

  /** Ends deliveries that have waited for more than `KEPT_DAYS`. */
  expireDeliveries = (pulse: Pulse): Promise<StepResult> =>
    this.#inChunks(
      chunksOf((limit) => this.needs.expiry.expire(KEPT_DAYS, limit)),
      pulse,
    );

  /** Returns the names of all purges, in the order of a run. */
  purgeNames = (): string[] => [
    ...Object.keys(this.needs.ofTenants ?? {}),
    ...Object.keys(this.needs.purges),
  ];

  /**
   * Deletes piece after piece, and pauses after each for as long as it took, so that at most half of one connection's
   * time is used.
   */
  #inChunks = async (pieces: Pieces, pulse: Pulse): Promise<StepResult> => {
    const { chunk, budget } = this.needs.settings ?? SETTINGS;
    const began = performance.now();
    let count = 0;
    let start = began;
    pulse.signal.throwIfAborted();
    for await (const { removed, place } of pieces(chunk)) {
      count += removed;
      pulse.heartbeat();
      const end = performance.now();
      if (end - began > budget) return { count, more: true, ...(place === undefined ? {} : { place }) };
      await sleep(end - start, undefined, { signal: pulse.signal });
      start = performance.now();
    }
    return { count, more: false };
  };
}

/** Chunk after chunk, until one is not full. */
function chunksOf(remove: (limit: number) => Promise<number>): Pieces {
  return async function* (limit) {
    for (let removed = limit; removed >= limit; ) {
      removed = await remove(limit);
      yield { removed };
    }
  };
}
