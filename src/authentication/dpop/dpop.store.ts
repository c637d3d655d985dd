// All SQL of DPoP proofs. When several requests use one proof, also in several processes, one INSERT decides which use
// counts.
import type { Queryable } from '../../platform/database/transaction.ts';

/**
 * A used proof: its key's thumbprint (32 bytes), SHA-256 of its `jti`, and the time in Unix seconds after which it may
 * be deleted.
 */
export type UsedProof = {
  readonly jkt: Uint8Array;
  readonly jtiHash: Uint8Array;
  readonly expiresAt: number;
};

/**
 * How long a row is kept after its time: the clock of the process that checks a proof and the clock of the database may
 * differ. An older row refuses only proofs that are refused anyway.
 */
const MARGIN = "interval '5 minutes'";

/** Records the use. @returns false when the proof was used before; of concurrent uses exactly one gets true */
export async function insert(queryable: Queryable, proof: UsedProof): Promise<boolean> {
  const { rowCount } = await queryable.query(
    `INSERT INTO dpop_proofs (jkt, jti_hash, expires_at) VALUES ($1, $2, to_timestamp($3::float8))
         ON CONFLICT (jkt, jti_hash) DO NOTHING`,
    [proof.jkt, proof.jtiHash, proof.expiresAt],
  );
  return rowCount === 1;
}

/** Deletes proofs that no process accepts any more. @returns how many, at most `limit` */
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
