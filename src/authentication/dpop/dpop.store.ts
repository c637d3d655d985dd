// SQL of DPoP proofs. When several requests use one proof, even in several processes, one INSERT decides which use is
// accepted.
import type { Queryable } from '../../platform/database/transaction.ts';

/** The key's thumbprint (32 bytes), the SHA-256 of the `jti`, and the end in Unix seconds of the row. */
export type UsedProof = {
  readonly jkt: Uint8Array;
  readonly jtiHash: Uint8Array;
  readonly expiresAt: number;
};

/** A row is kept this long after its expiry, because the clocks of processes and the database differ. */
const MARGIN = "interval '5 minutes'";

/** Records the use. Of concurrent uses exactly one gets true. @returns false when the proof was used before */
export async function insert(queryable: Queryable, proof: UsedProof): Promise<boolean> {
  const { rowCount } = await queryable.query(
    `INSERT INTO dpop_proofs (jkt, jti_hash, expires_at) VALUES ($1, $2, to_timestamp($3::float8))
         ON CONFLICT (jkt, jti_hash) DO NOTHING`,
    [proof.jkt, proof.jtiHash, proof.expiresAt],
  );
  return rowCount === 1;
}

/** Deletes proofs that no process accepts any more. @returns the number deleted, at most `limit` */
export async function purge(queryable: Queryable, limit: number): Promise<number> {
  const { rowCount } = await queryable.query(
    `DELETE FROM dpop_proofs p USING (
           SELECT jkt, jti_hash FROM dpop_proofs WHERE expires_at < now() - ${MARGIN}
           ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
         ) AS old
         WHERE p.jkt = old.jkt AND p.jti_hash = old.jti_hash`,
    [limit],
  );
  return rowCount;
}
