// Counts the accounts of deliveries and reports each account with a difference. It changes no delivery.
// docs/decisions/0014-retention.md

import { setTimeout as sleep } from 'node:timers/promises';
import type { Database } from '../../platform/database/database.ts';
import * as accountStore from './account.store.ts';
import { addNumbers, type TenantNumbers, type WrongAccount } from './account.ts';

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;

/**
 * The times and lengths of the spans, in milliseconds. A span doubles when its count took less than `fast`, and halves
 * when it took more than `slow`; `first` is the first length, `least` the shortest.
 */
const PACE = { fast: 200, slow: 1_000, first: 60 * MINUTE, least: MINUTE } as const;

type Pulse = { readonly heartbeat: () => void; readonly signal: AbortSignal };

/** @param options.onDifference receives each account with a difference, each time it is counted */
export function createAccountService({
  database,
  store = accountStore,
  onDifference,
}: {
  database: Pick<Database, 'query'>;
  store?: typeof accountStore | undefined;
  onDifference: (account: WrongAccount) => void;
}) {
  /** Counts a day span by span, with a pause after each. The spans adapt, so that no statement reaches its time-out. */
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
      pulse.heartbeat();
      const took = performance.now() - start;
      if (took < PACE.fast && from === to) length *= 2;
      if (took > PACE.slow) length = Math.max(PACE.least, length / 2);
      await sleep(took, undefined, { signal: pulse.signal });
    }
    return parts;
  };

  /** Counts and stores the accounts of a day (`2026-11-21`, UTC). @returns the accounts with a difference */
  const countDay = async (day: string, pulse: Pulse): Promise<WrongAccount[]> => {
    const start = performance.now();
    const numbers = await countSpans(day, pulse);
    const wrong = await store.save(database, { day, tookMs: performance.now() - start }, numbers);
    wrong.forEach(onDifference);
    return wrong;
  };

  return {
    countDay,

    /** Counts today and each of the last `days` that is due. @returns the number of counted days */
    countDue: async (days: number, pulse: Pulse): Promise<number> => {
      const due = await store.due(database, days);
      for (const day of due) await countDay(day, pulse);
      return due.length;
    },
  };
}

export type AccountService = ReturnType<typeof createAccountService>;
