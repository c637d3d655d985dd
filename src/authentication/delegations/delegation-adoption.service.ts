// Moves the names that an earlier version wrote into delegations to users. A row is found by exchanges from then on.

import type { Database } from '../../platform/database/database.ts';
import { createLoop } from '../../platform/process/loop.ts';
import { Service } from '../../platform/service.ts';
import type { UserService } from '../users/user.service.ts';
import * as store from './delegation.store.ts';

/** Delegations of one transaction. */
const CHUNK = 100;

/** Milliseconds between two runs: a process of the version before may still write names. */
const PAUSE = 60_000;

export class DelegationAdoption extends Service<{
  database: Pick<Database, 'transaction'>;
  users: Pick<UserService, 'keep'>;
  /** Receives the error of a run; the loop continues. */
  onFailure?: ((error: unknown) => void) | undefined;
}> {
  readonly #onFailure = this.needs.onFailure ?? (() => undefined);

  /** Moves all names. @returns how many */
  adopt = async (signal?: AbortSignal): Promise<number> => {
    for (let count = 0; ; ) {
      signal?.throwIfAborted();
      const adopted = await this.#adoptChunk();
      count += adopted;
      if (adopted < CHUNK) return count;
    }
  };

  /** Begins to move names, and repeats it after a failure. */
  start = createLoop({ run: this.adopt, next: PAUSE, onFailure: this.#onFailure }).start;

  #adoptChunk = (): Promise<number> =>
    this.needs.database.transaction({}, async (transaction) => {
      const found = await store.lockPlain(transaction, CHUNK);
      for (const { id, tenantId, issuer, sub, reason } of found) {
        const user = await this.needs.users.keep(transaction, tenantId, { issuer, sub });
        await store.adopt(transaction, id, user.id, reason === null ? null : user.seal(reason));
      }
      return found.length;
    });
}
