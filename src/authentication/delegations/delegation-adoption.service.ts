// Moves the names that an earlier version wrote into delegations to users. A row is found by exchanges from then on.
import type { Database } from '../../platform/database/database.ts';
import { createLoop } from '../../platform/process/loop.ts';
import type { UserService } from '../users/user.service.ts';
import * as store from './delegation.store.ts';

/** Delegations of one transaction. */
const CHUNK = 100;

/** Milliseconds between two runs: a process of the version before may still write names. */
const PAUSE = 60_000;

/** @param onFailure receives the error of a run; the loop continues */
export function createDelegationAdoption({
  database,
  users,
  onFailure = () => undefined,
}: {
  database: Pick<Database, 'transaction'>;
  users: Pick<UserService, 'keep'>;
  onFailure?: ((error: unknown) => void) | undefined;
}) {
  const adoptChunk = (): Promise<number> =>
    database.transaction({}, async (transaction) => {
      const found = await store.lockPlain(transaction, CHUNK);
      for (const { id, tenantId, issuer, sub, reason } of found) {
        const user = await users.keep(transaction, tenantId, { issuer, sub });
        await store.adopt(transaction, id, user.id, reason === null ? null : user.seal(reason));
      }
      return found.length;
    });

  /** Moves all names. @returns how many */
  const adopt = async (signal?: AbortSignal): Promise<number> => {
    for (let count = 0; ; ) {
      signal?.throwIfAborted();
      const adopted = await adoptChunk();
      count += adopted;
      if (adopted < CHUNK) return count;
    }
  };
  return { adopt, start: createLoop({ run: adopt, next: PAUSE, onFailure }).start };
}
