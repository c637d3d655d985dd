// Uses of proofs and assertions, each of which is accepted once: of concurrent uses, also in several processes, one
// INSERT decides which is the first.
import { deleteOldest } from './deletion.ts';
import type { Queryable } from './transaction.ts';

/** A row is kept this long after its expiry, because the clocks of processes and the database differ. */
const MARGIN = "interval '5 minutes'";

/** Milliseconds between two purges of one process, and the greatest number of rows that one statement deletes. */
const PURGE_INTERVAL = 60_000;
const PURGE_BATCH = 1_000;

/** Whose it is and its hash, which are unique together; `expiresAt` in Unix seconds. */
export type Use = {
  readonly owner: string | Uint8Array;
  readonly hash: Uint8Array;
  readonly expiresAt: number;
};

/**
 * A request that may use the same thing again, as a retry after a lost answer. `request` is its digest, `within` the
 * seconds after the first use, `most` the number of repeats.
 */
export type Repeat = { readonly request: Uint8Array; readonly within: number; readonly most: number };

/** The statements of one table. @param columns of `owner` and of `hash` */
export function createUsedOnce(table: string, [ownerColumn, hashColumn]: readonly [string, string]) {
  const key = `${ownerColumn}, ${hashColumn}`;
  return {
    /** Records a use. Of concurrent uses exactly one gets true. @returns false when it was used before */
    insert: async (queryable: Queryable, { owner, hash, expiresAt }: Use): Promise<boolean> => {
      const { rowCount } = await queryable.query(
        `INSERT INTO ${table} (${key}, expires_at) VALUES ($1, $2, to_timestamp($3::float8))
         ON CONFLICT (${key}) DO NOTHING`,
        [owner, hash, expiresAt],
      );
      return rowCount === 1;
    },
    /**
     * Records a use as `insert` does, or the repeat of the same request. The table has `request`, `used_at`, `repeats`.
     * @returns false when it was used before by another request, longer ago, or too often
     */
    insertOrRepeat: async (
      queryable: Queryable,
      { owner, hash, expiresAt }: Use,
      { request, within, most }: Repeat,
    ): Promise<boolean> => {
      const { rowCount } = await queryable.query(
        `INSERT INTO ${table} AS used (${key}, expires_at, request) VALUES ($1, $2, to_timestamp($3::float8), $4)
         ON CONFLICT (${key}) DO UPDATE SET repeats = used.repeats + 1
           WHERE used.request = excluded.request AND used.repeats < $6
             AND used.used_at > clock_timestamp() - make_interval(secs => $5)`,
        [owner, hash, expiresAt, request, within, most],
      );
      return rowCount === 1;
    },
    /** Deletes expired uses. @returns the number deleted, at most `limit` */
    purge: deleteOldest(table, {
      key: [ownerColumn, hashColumn],
      old: `expires_at < now() - ${MARGIN}`,
      by: 'expires_at',
    }),
  };
}

/**
 * Purges a table of a busy process once a minute, beside its requests.
 * @param purge deletes at most so many rows, and returns their number
 * @param now in milliseconds
 */
export function createPurging({
  purge,
  now,
  onError,
}: {
  purge: (limit: number) => Promise<number>;
  now: () => number;
  onError: (error: unknown) => void;
}) {
  let purgedAt = now();
  let purging: Promise<void> = Promise.resolve();
  const purgeAll = async (): Promise<void> => {
    while ((await purge(PURGE_BATCH)) === PURGE_BATCH);
  };
  return {
    whenDue: (): void => {
      if (now() - purgedAt < PURGE_INTERVAL) return;
      purgedAt = now();
      purging = purgeAll().catch(onError);
    },
    /** Waits for a running purge. Call it before the database closes. */
    settled: (): Promise<void> => purging,
  };
}
