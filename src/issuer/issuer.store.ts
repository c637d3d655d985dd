// All SQL of the issuer keys. Times are the database's; every statement but the one for operators is bound to one tenant.
import type { SigningAlgorithm } from '../context.ts';
import type { Queryable } from '../database/transaction.ts';
import type { IssuerJwk, IssuerKey } from './issuer-key.ts';

type Row = {
  kid: string;
  algorithm: SigningAlgorithm;
  public_jwk: IssuerJwk;
  private_sealed: Buffer;
  can_sign: boolean;
};

/** SQL of `issuer_keys`. @param database for reads outside a transaction */
export function createIssuerStore({ database }: { database: Queryable }) {
  return {
    /** The tenant's published keys, the latest activation first. One round trip. */
    listPublished: async (tenantId: string): Promise<IssuerKey[]> => {
      const { rows } = await database.query<Row>(
        `SELECT kid, algorithm, public_jwk, private_sealed,
                activate_at <= now() AND (retire_at IS NULL OR retire_at > now()) AS can_sign
         FROM issuer_keys
         WHERE tenant_id = $1 AND (remove_at IS NULL OR remove_at > now())
         ORDER BY activate_at DESC, kid`,
        [tenantId],
      );
      return rows.map((row) => ({
        kid: row.kid,
        algorithm: row.algorithm,
        publicJwk: row.public_jwk,
        privateSealed: row.private_sealed,
        canSign: row.can_sign,
      }));
    },

    /** The key that was sealed last, of whichever tenant: only for holding the master keys against the database. */
    findNewest: async (): Promise<
      (Pick<IssuerKey, 'kid' | 'privateSealed'> & { tenantId: string }) | undefined
    > => {
      const { rows } = await database.query<Pick<Row, 'kid' | 'private_sealed'> & { tenant_id: string }>(
        'SELECT tenant_id, kid, private_sealed FROM issuer_keys ORDER BY created_at DESC LIMIT 1',
      );
      const [row] = rows;
      return row && { tenantId: row.tenant_id, kid: row.kid, privateSealed: row.private_sealed };
    },

    /** Adds a key that signs `activateInSeconds` from now. */
    insert: async (
      unit: Queryable,
      tenantId: string,
      key: Omit<IssuerKey, 'canSign'>,
      activateInSeconds: number,
    ): Promise<void> => {
      await unit.query(
        `INSERT INTO issuer_keys (kid, tenant_id, algorithm, public_jwk, private_sealed, activate_at)
         VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))`,
        [
          key.kid,
          tenantId,
          key.algorithm,
          JSON.stringify(key.publicJwk),
          key.privateSealed,
          activateInSeconds,
        ],
      );
    },

    /**
     * Drops keys of other algorithms that have not signed yet.
     * @returns the algorithm of the key that will sign once every activation has come; undefined without any key
     */
    settleAlgorithm: async (
      unit: Queryable,
      tenantId: string,
      algorithm: SigningAlgorithm,
    ): Promise<SigningAlgorithm | undefined> => {
      await unit.query(
        'DELETE FROM issuer_keys WHERE tenant_id = $1 AND algorithm <> $2 AND activate_at > now()',
        [tenantId, algorithm],
      );
      const { rows } = await unit.query<{ algorithm: SigningAlgorithm }>(
        `SELECT algorithm FROM issuer_keys
         WHERE tenant_id = $1 AND (retire_at IS NULL OR retire_at > now()) ORDER BY activate_at DESC LIMIT 1`,
        [tenantId],
      );
      return rows[0]?.algorithm;
    },
  };
}

export type IssuerStore = ReturnType<typeof createIssuerStore>;
