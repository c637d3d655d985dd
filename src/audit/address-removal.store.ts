// Removes addresses of clients from rows of the audit log, whose leaves have only a digest of them.
// docs/decisions/0048-address-digests.md
import type { Queryable } from '../platform/database/transaction.ts';

export type AddressRemoval = {
  readonly looked: number;
  readonly removed: number;
  /** The last row that was read; null where there was none. */
  readonly latest: string | null;
};

/** Looks at a tenant's next rows that are older than `days`. @param options.after the row where it went to before */
export async function removeAddresses(
  unit: Queryable,
  { tenantId, after, days, limit }: { tenantId: string; after: string; days: number; limit: number },
): Promise<AddressRemoval> {
  const { rows } = await unit.query<AddressRemoval>('SELECT * FROM remove_client_addresses($1, $2, $3, $4)', [
    tenantId,
    after,
    days,
    limit,
  ]);
  return rows[0] ?? { looked: 0, removed: 0, latest: null };
}
