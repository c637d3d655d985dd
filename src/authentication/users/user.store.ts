// SQL of users. Each statement is bound to one tenant.
import { counted, many, one } from '../../platform/database/statements.ts';
import type { Transaction } from '../../platform/database/transaction.ts';
import type { StoredUser } from './user-sealing.service.ts';

const COLUMNS = 'id, tenant_id, name AS name_sealed, key_sealed';

/** In the order of their texts, so that no two transactions wait for each other. */
const lockDigests = counted<[digests: readonly string[]]>(`
SELECT pg_advisory_xact_lock(hashtextextended('user:' || digest, 0))
FROM unnest($1::text[]) WITH ORDINALITY AS digests (digest, place) ORDER BY place`);

// The lock on the row makes a forgetting wait.
const keepOne = one<
  StoredUser,
  [id: string, tenantId: string, nameSealed: Buffer, keySealed: Buffer, digests: readonly string[]]
>(`
WITH known AS (
  SELECT ${COLUMNS} FROM users WHERE tenant_id = $2 AND digest = ANY ($5::text[]) ORDER BY id LIMIT 1 FOR KEY SHARE
), made AS (
  INSERT INTO users (id, tenant_id, name, key_sealed, digest)
  SELECT $1, $2, $3, $4, ($5::text[])[1] WHERE NOT EXISTS (SELECT FROM known)
)
SELECT * FROM known`);

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
  await lockDigests(unit, [...digests].sort());
  return (await keepOne(unit, id, tenantId, nameSealed, keySealed, digests)) ?? user;
}

export const list = many<StoredUser, [tenantId: string, ids: readonly string[]]>(
  `SELECT ${COLUMNS} FROM users WHERE tenant_id = $1 AND id = ANY ($2::uuid[])`,
);

/** Removes the users with one of these digests, with their keys. */
export const remove = many<{ id: string }, [tenantId: string, digests: readonly string[]]>(
  'DELETE FROM users WHERE tenant_id = $1 AND digest = ANY ($2::text[]) RETURNING id',
);
