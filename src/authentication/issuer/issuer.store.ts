// SQL of the issuer keys that requests read. Each statement except `findNewest` is bound to the tenants that it names.
// All times come from the database's clock.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { IssuerKey } from './issuer-key.ts';

type SealedKey = Pick<IssuerKey, 'kid'> & { readonly tenantId: string; readonly privateSealed: Uint8Array };

/** `issuer_keys`: of access tokens; `event_keys`: of security event tokens. */
export type KeyTable = 'issuer_keys' | 'event_keys';

/** Only a key of access tokens has a key for deliveries beside it. */
const DELIVERY_KEYS: Readonly<Record<KeyTable, string>> = {
  issuer_keys: 'delivery_jwk AS "deliveryJwk", delivery_sealed AS "deliverySealed"',
  event_keys: 'NULL AS "deliveryJwk", NULL AS "deliverySealed"',
};

/**
 * Lists the keys of tenants that may have signed a live token, latest activation first. One round trip.
 * @returns a list for each tenant
 */
export async function list(
  queryable: Queryable,
  tenantIds: readonly string[],
  table: KeyTable,
): Promise<IssuerKey[][]> {
  const { rows } = await queryable.query<IssuerKey & { tenantId: string }>(
    `SELECT tenant_id AS "tenantId", id, kid, algorithm, public_jwk AS "publicJwk", private_sealed AS "privateSealed",
            revoked_at IS NOT NULL AS "isRevoked",
            activate_at <= now() AND revoked_at IS NULL AND private_sealed IS NOT NULL AS "canSign", activate_at <= now() AS "isActivated",
            ${DELIVERY_KEYS[table]}
     FROM ${table}
     WHERE tenant_id = ANY ($1::uuid[]) AND (remove_at IS NULL OR remove_at > now())
     ORDER BY activate_at DESC, kid`,
    [[...new Set(tenantIds)]],
  );
  const lists = new Map<string, IssuerKey[]>(tenantIds.map((tenantId) => [tenantId, []]));
  for (const { tenantId, ...key } of rows) lists.get(tenantId)?.push(key);
  return tenantIds.map((tenantId) => lists.get(tenantId) ?? []);
}

/** Finds the key that was sealed last, of any tenant, to check that the master keys belong to this database. */
export async function findNewest(queryable: Queryable): Promise<SealedKey | undefined> {
  const { rows } = await queryable.query<SealedKey>(
    `SELECT tenant_id AS "tenantId", kid, private_sealed AS "privateSealed" FROM issuer_keys WHERE private_sealed IS NOT NULL
     ORDER BY created_at DESC LIMIT 1`,
  );
  return rows[0];
}
