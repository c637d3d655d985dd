// Uses of proofs and assertions, each of which is accepted once: of concurrent uses, also in several processes, one
// INSERT decides which is the first. Concurrent requests share it.
import { columnsOf } from '../columns.ts';
import { ServiceError } from '../errors/service-error.ts';
import { createCoalescer } from './coalescer.ts';
import { deleteOldest } from './deletion.ts';
import { many } from './statements.ts';
import type { Queryable } from './transaction.ts';

/** A row is kept this long after its expiry, because the clocks of processes and the database differ. */
const MARGIN = "interval '5 minutes'";

/**
 * Whose it is and its hash, which are unique together; `expiresAt` in Unix seconds. `request`: the digest of a request
 * that may use it again, as a retry after a lost answer.
 */
export type Use = {
  readonly owner: string | Uint8Array;
  readonly hash: Uint8Array;
  readonly expiresAt: number;
  readonly request?: Uint8Array | undefined;
};

/** Seconds after the first use within which the same request may use it again, and how often. */
export type Repeats = { readonly within: number; readonly most: number };

type UsedOnce = {
  readonly table: string;
  readonly owner: readonly [column: string, type: 'uuid' | 'bytea'];
  readonly hash: string;
  /** The table has `request`, `used_at`, `repeats`. */
  readonly repeats?: Repeats | undefined;
};

/** The statements of one table. */
export function createUsedOnce({ table, owner: [owner, type], hash, repeats }: UsedOnce) {
  const columns = columnsOf<Use>(
    { float8: ['expiresAt'] },
    {
      [owner]: [type, (use) => use.owner],
      [hash]: ['bytea', (use) => use.hash],
      ...(repeats && { request: ['bytea', (use: Use) => use.request ?? null] as const }),
    },
  );
  // In one order everywhere, because two statements with the same uses wait for each other.
  const request = repeats === undefined ? '' : ', request';
  const insert = many<Pick<Use, 'hash'> & { readonly owner: unknown }, unknown[]>(`
INSERT INTO ${table} AS used (${owner}, ${hash}, expires_at${request})
SELECT ${owner}, ${hash}, to_timestamp(expires_at)${request} FROM ${columns.from('use')} ORDER BY ${owner}, ${hash}
ON CONFLICT (${owner}, ${hash}) DO ${
    repeats
      ? `UPDATE SET repeats = used.repeats + 1
  WHERE used.request = excluded.request AND used.repeats < ${repeats.most}
    AND used.used_at > clock_timestamp() - interval '${repeats.within} seconds'`
      : 'NOTHING'
  }
RETURNING ${owner} AS owner, ${hash} AS hash`);

  /**
   * Records uses. Of concurrent ones of the same thing exactly one gets true, and those that `repeats` allows.
   * @returns for each whether it is good
   */
  async function record(queryable: Queryable, uses: readonly Use[]): Promise<boolean[]> {
    const good = uses.map(() => false);
    let left = [...uses.entries()];
    // A statement changes a row once: the same use in one batch is a repeat of the one before.
    for (let round = 0; round <= (repeats?.most ?? 0) && left.length > 0; round += 1) {
      const first = new Map(left.toReversed().map((entry) => [keyOf(entry[1]), entry]));
      const sent = [...first.values()];
      const rows = await insert(queryable, ...columns.of(sent.map(([, use]) => use)));
      const recorded = new Set(rows.map(keyOf));
      for (const [index, use] of sent) good[index] = recorded.has(keyOf(use));
      left = left.filter((entry) => !sent.includes(entry));
    }
    return good;
  }

  return {
    /** Records a use in the caller's transaction. @returns whether it is good */
    recordOne: async (unit: Queryable, use: Use): Promise<boolean> => (await record(unit, [use]))[0] === true,

    /**
     * Opens what records the uses of a process's requests, many in one statement.
     * @returns a function from a use to whether it is good; it throws `temporarily_unavailable`
     */
    openUses: (database: Queryable): ((use: Use) => Promise<boolean>) =>
      createCoalescer<Use, boolean>({
        run: async (batch, { isRepeated }) => {
          // The first try may have been committed: its own rows would then refuse these uses.
          if (isRepeated) throw unanswered();
          return record(database, batch);
        },
      }).add,

    /** Deletes expired uses. @returns the number deleted, at most `limit` */
    purge: deleteOldest(table, {
      key: [owner, hash],
      old: `expires_at < now() - ${MARGIN}`,
      by: 'expires_at',
    }),
  };
}

const inHex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

const keyOf = ({ owner, hash }: Pick<Use, 'hash'> & { readonly owner: unknown }): string =>
  `${owner instanceof Uint8Array ? inHex(owner) : owner} ${inHex(hash)}`;

const unanswered = () =>
  new ServiceError('temporarily_unavailable', {
    detail: 'Whether the proof was used could not be recorded. Try again with a new one.',
  });
