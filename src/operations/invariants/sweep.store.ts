// SQL of the lock under which one process at a time mends.
import type { Database } from '../../platform/database/database.ts';

const LOCK = 5_402_117;

/** Runs `work` under the advisory lock. @returns undefined when another process holds the lock */
export async function exclusively<T>(
  database: Pick<Database, 'pool'>,
  work: () => Promise<T>,
): Promise<T | undefined> {
  const client = await database.pool.connect();
  let isSound = false;
  try {
    const { rows } = await client.query<{ locked: boolean }>('SELECT pg_try_advisory_lock($1) AS locked', [
      LOCK,
    ]);
    const locked = rows[0]?.locked === true;
    const result = locked ? await work() : undefined;
    if (locked) await client.query('SELECT pg_advisory_unlock($1)', [LOCK]);
    isSound = true;
    return result;
  } finally {
    // Closing an unsound connection releases the lock.
    client.release(!isSound);
  }
}
