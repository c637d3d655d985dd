// SQL of the issuer keys that requests read. Each statement except `findNewest` is bound to the tenants that it names.
// All times come from the database's clock.
import { many, one } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { IssuerKey } from './issuer-key.ts';

/** `issuer_keys`: of access tokens; `event_keys`: of security event tokens. */
export type KeyTable = 'issuer_keys' | 'event_keys';

/** @param delivery the columns of the key for deliveries, which only a key of access tokens has beside it */
const listOf = (table: KeyTable, delivery: string) =>
  many<IssuerKey & { readonly tenantId: string }, [tenantIds: readonly string[]]>(
    `SELECT tenant_id, id, kid, algorithm, public_jwk, private_sealed, revoked_at IS NOT NULL AS is_revoked,
            activate_at <= now() AND revoked_at IS NULL AND private_sealed IS NOT NULL AS can_sign, activate_at <= now() AS is_activated,
            ${delivery}
     FROM ${table}
     WHERE tenant_id = ANY ($1::uuid[]) AND (remove_at IS NULL OR remove_at > now())
     ORDER BY activate_at DESC, kid`,
  );

const LISTS = {
  issuer_keys: listOf('issuer_keys', 'delivery_jwk, delivery_sealed'),
  event_keys: listOf('event_keys', 'NULL::jsonb AS delivery_jwk, NULL::bytea AS delivery_sealed'),
} as const;

/**
 * Lists the keys of tenants that may have signed a live token, latest activation first. One round trip.
 * @returns a list for each tenant
 */
export async function list(
  queryable: Queryable,
  tenantIds: readonly string[],
  table: KeyTable,
): Promise<IssuerKey[][]> {
  const lists = new Map<string, IssuerKey[]>(tenantIds.map((tenantId) => [tenantId, []]));
  for (const { tenantId, ...key } of await LISTS[table](queryable, [...lists.keys()]))
    lists.get(tenantId)?.push(key);
  return tenantIds.map((tenantId) => lists.get(tenantId) ?? []);
}

/** Finds the key that was sealed last, of any tenant, to check that the master keys belong to this database. */
export const findNewest = one<{ tenantId: string; kid: string; privateSealed: Uint8Array }>(
  `SELECT tenant_id, kid, private_sealed FROM issuer_keys WHERE private_sealed IS NOT NULL
   ORDER BY created_at DESC LIMIT 1`,
);
