// Counts the accounts of deliveries and reports each account with a difference. It changes no delivery.
// docs/decisions/0014-retention.md

import type { Database } from '../../platform/database/database.ts';
import { Service } from '../../platform/service.ts';
import * as accountStore from './account.store.ts';
import { NUMBERS, type WrongAccount } from './account.ts';
import { addParts, countSpans, type Pulse } from './span.service.ts';

const DAY_MS = 86_400_000;

export class AccountService extends Service<{
  database: Pick<Database, 'query'>;
  store?: typeof accountStore | undefined;
  /** Receives each account with a difference, each time it is counted. */
  onDifference: (account: WrongAccount) => void;
}> {
  readonly #store = this.needs.store ?? accountStore;

  /** Counts and stores the accounts of a day (`2026-11-21`, UTC). @returns the accounts with a difference */
  countDay = async (day: string, pulse: Pulse): Promise<WrongAccount[]> => {
    const start = performance.now();
    const from = Date.parse(`${day}T00:00:00Z`);
    const parts = await countSpans({ from, to: from + DAY_MS }, pulse, (...span) =>
      this.#store.count(this.needs.database, ...span),
    );
    const numbers = addParts(parts, ({ tenantId }) => tenantId, NUMBERS);
    const wrong = await this.#store.save(
      this.needs.database,
      { day, tookMs: performance.now() - start },
      numbers,
    );
    wrong.forEach(this.needs.onDifference);
    return wrong;
  };

  /** Leaves the accounts of a day as they are from now on, because its rows go. */
  closeDay = async (day: string): Promise<void> => void (await this.#store.close(this.needs.database, day));

  /** Counts today and each of the last `days` that is due. @returns the number of counted days */
  countDue = async (days: number, pulse: Pulse): Promise<number> => {
    const due = await this.#store.due(this.needs.database, days);
    for (const { day } of due) await this.countDay(day, pulse);
    return due.length;
  };
}
