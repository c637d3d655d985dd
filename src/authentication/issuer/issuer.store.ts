// SQL of the issuer keys that requests read. Times are the database's; every statement but the one for operators is bound to one tenant.
import type { SigningAlgorithm } from '../../platform/context.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { IssuerJwk, IssuerKey } from './issuer-key.ts';

type Row = {
  id: string;
  kid: string;
  algorithm: SigningAlgorithm;
  public_jwk: IssuerJwk;
  private_sealed: Buffer | null;
  can_sign: boolean;
  is_revoked: boolean;
};

/** The key that was sealed last, of whichever tenant. */
type SealedKey = Pick<IssuerKey, 'kid'> & { readonly tenantId: string; readonly privateSealed: Uint8Array };

/** Readings of `issuer_keys`. */
export function createIssuerStore({ database }: { database: Queryable }) {
  return {
    /** The tenant's keys that something may still be verified or refused by, the latest activation first. One round trip. */
    list: async (tenantId: string): Promise<IssuerKey[]> => {
      const { rows } = await database.query<Row>(
        `SELECT id, kid, algorithm, public_jwk, private_sealed, revoked_at IS NOT NULL AS is_revoked,
                activate_at <= now() AND revoked_at IS NULL AND private_sealed IS NOT NULL AS can_sign
         FROM issuer_keys
         WHERE tenant_id = $1 AND (remove_at IS NULL OR remove_at > now())
         ORDER BY activate_at DESC, kid`,
        [tenantId],
      );
      return rows.map((row) => ({
        id: row.id,
        kid: row.kid,
        algorithm: row.algorithm,
        publicJwk: row.public_jwk,
        privateSealed: row.private_sealed,
        canSign: row.can_sign,
        isRevoked: row.is_revoked,
      }));
    },

    /** Only for holding the master keys against the database. */
    findNewest: async (): Promise<SealedKey | undefined> => {
      const { rows } = await database.query<{ tenant_id: string; kid: string; private_sealed: Buffer }>(
        `SELECT tenant_id, kid, private_sealed FROM issuer_keys WHERE private_sealed IS NOT NULL
         ORDER BY created_at DESC LIMIT 1`,
      );
      const [row] = rows;
      return row && { tenantId: row.tenant_id, kid: row.kid, privateSealed: row.private_sealed };
    },
  };
}

export type IssuerStore = ReturnType<typeof createIssuerStore>;
