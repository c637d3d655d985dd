// Removes addresses of clients from rows of the audit log, whose leaves have only a digest of them.
// docs/decisions/0048-address-digests.md
import { only } from '../platform/database/statements.ts';

/** `latest`: the last row that was read; null where there was none. */
type AddressRemoval = { readonly looked: number; readonly removed: number; readonly latest: string | null };

/** Looks at a tenant's next rows that are older than `days`. `after`: the row where it went to before. */
export const removeAddresses = only<
  AddressRemoval,
  [tenantId: string, after: string, days: number, limit: number]
>('SELECT * FROM remove_client_addresses($1, $2, $3, $4)');
