// SQL of used client assertions. When several requests use one assertion, even in several processes, one INSERT decides
// which use is accepted.
import type { Queryable } from '../../platform/database/transaction.ts';

/** A row is kept this long after its expiry, because the clocks of processes and the database differ. */
const MARGIN = "interval '5 minutes'";

/** Records the use of an assertion. @param use.expiresAt Unix seconds @returns false when it was used before */
export async function insert(
  queryable: Queryable,
  use: { readonly clientId: string; readonly jtiHash: Uint8Array; readonly expiresAt: number },
): Promise<boolean> {
  const { rowCount } = await queryable.query(
    `INSERT INTO client_assertions (client_id, jti_hash, expires_at) VALUES ($1, $2, to_timestamp($3::float8))
         ON CONFLICT (client_id, jti_hash) DO NOTHING`,
    [use.clientId, use.jtiHash, use.expiresAt],
  );
  return rowCount === 1;
}

/** Deletes expired assertions. @returns the number deleted, at most `limit` */
export async function purge(queryable: Queryable, limit: number): Promise<number> {
  const { rowCount } = await queryable.query(
    `DELETE FROM client_assertions c USING (
           SELECT client_id, jti_hash FROM client_assertions WHERE expires_at < now() - ${MARGIN}
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
         ) AS old
         WHERE c.client_id = old.client_id AND c.jti_hash = old.jti_hash`,
    [limit],
  );
  return rowCount;
}
