// Counts the accounts of deliveries, and reports accounts that do not add up. It changes no delivery.

import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.ts';
import * as accountStore from './account.store.ts';
import { addNumbers, type TenantNumbers, type WrongAccount } from './account.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/** A span is doubled while it is counted faster than this, and halved when it took longer; milliseconds. */
const PACE = { fast: 200, slow: 1_000, first: 60 * MINUTE, least: MINUTE } as const;

/** `beat` reports the progress of a count; `signal` stops it. */
type Pulse = { readonly beat: () => void; readonly signal: AbortSignal };

/** @param options.onDifference receives each account that does not add up, at each count */
export function createAccountService({
  database,
  store = accountStore,
  onDifference,
}: {
  database: Pick<Database, 'query'>;
  /** Replaced in tests of faults. */
  store?: typeof accountStore | undefined;
  onDifference: (account: WrongAccount) => void;
}) {
  /**
   * Counts a day span by span, with a pause as long as each count took. The spans adapt, so that no statement comes
   * near its time-out.
   */
  const countSpans = async (day: string, pulse: Pulse): Promise<TenantNumbers[]> => {
    const begin = Date.parse(`${day}T00:00:00Z`);
    let parts: TenantNumbers[] = [];
    let length: number = PACE.first;
    for (let from = begin; from < begin + DAY; ) {
      pulse.signal.throwIfAborted();
      const to = Math.min(from + length, begin + DAY);
      const start = performance.now();
      const span = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
      try {
        parts = addNumbers([...parts, ...(await store.count(database, span))]);
        from = to;
      } catch (error) {
        // The span may have been too long for one statement.
        if (length <= PACE.least) throw error;
        length = Math.max(PACE.least, Math.floor(length / 16));
      }
      pulse.beat();
      const took = performance.now() - start;
      if (took < PACE.fast && from === to) length *= 2;
      if (took > PACE.slow) length = Math.max(PACE.least, length / 2);
      await sleep(took, undefined, { signal: pulse.signal });
    }
    return parts;
  };

  /** Counts a day's accounts and keeps them. @param day `2026-11-21`, UTC @returns those that do not add up */
  const countDay = async (day: string, pulse: Pulse): Promise<WrongAccount[]> => {
    const start = performance.now();
    const numbers = await countSpans(day, pulse);
    const wrong = await store.save(database, { day, tookMs: performance.now() - start }, numbers);
    wrong.forEach(onDifference);
    return wrong;
  };

  return {
    countDay,

    /** Counts the days that are due of the last `days` and today. @returns how many days */
    countDue: async (days: number, pulse: Pulse): Promise<number> => {
      const due = await store.due(database, days);
      for (const day of due) await countDay(day, pulse);
      return due.length;
    },
  };
}

export type AccountService = ReturnType<typeof createAccountService>;
