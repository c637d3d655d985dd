// SQL of users. Each statement is bound to one tenant.
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import type { StoredUser } from './user-sealing.service.ts';

const COLUMNS = 'id, tenant_id AS "tenantId", name AS "nameSealed", key_sealed AS "keySealed"';

/** In the order of their texts, so that no two transactions wait for each other. */
const LOCK = `
SELECT pg_advisory_xact_lock(hashtextextended('user:' || digest, 0))
FROM unnest($1::text[]) WITH ORDINALITY AS digests (digest, place) ORDER BY place`;

// The lock on the row makes a forgetting wait.
const KEEP = `
WITH known AS (
  SELECT ${COLUMNS} FROM users WHERE tenant_id = $2 AND digest = ANY ($5::text[]) ORDER BY id LIMIT 1 FOR KEY SHARE
), made AS (
  INSERT INTO users (id, tenant_id, name, key_sealed, digest)
  SELECT $1, $2, $3, $4, ($5::text[])[1] WHERE NOT EXISTS (SELECT FROM known)
)
SELECT * FROM known`;

/**
 * Returns the user with one of these digests. When there is none, the given one is stored with the first digest. A lock
 * on the digests, one more round trip, lets transactions with the same new name follow each other, also where their
 * processes have master keys in another order.
 */
export async function keep(
  unit: Transaction,
  user: StoredUser,
  digests: readonly string[],
): Promise<StoredUser> {
  const { id, tenantId, nameSealed, keySealed } = user;
  await unit.query(LOCK, [[...digests].sort()]);
  const { rows } = await unit.query<StoredUser>(KEEP, [id, tenantId, nameSealed, keySealed, digests]);
  return rows[0] ?? user;
}

export async function list(
  queryable: Queryable,
  tenantId: string,
  ids: readonly string[],
): Promise<StoredUser[]> {
  const { rows } = await queryable.query<StoredUser>(
    `SELECT ${COLUMNS} FROM users WHERE tenant_id = $1 AND id = ANY ($2::uuid[])`,
    [tenantId, ids],
  );
  return rows;
}

/** Removes the users with one of these digests, with their keys. @returns their ids */
export async function remove(
  unit: Transaction,
  tenantId: string,
  digests: readonly string[],
): Promise<string[]> {
  const { rows } = await unit.query<{ id: string }>(
    'DELETE FROM users WHERE tenant_id = $1 AND digest = ANY ($2::text[]) RETURNING id',
    [tenantId, digests],
  );
  return rows.map(({ id }) => id);
}
