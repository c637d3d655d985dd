// SQL of the issuer keys that requests read. It uses the database's clock; each statement except the one for operators
// is limited to one tenant.
import type { Queryable } from '../../platform/database/transaction.ts';
import type { IssuerKey } from './issuer-key.ts';

/** The key that was sealed last, of any tenant. */
type SealedKey = Pick<IssuerKey, 'kid'> & { readonly tenantId: string; readonly privateSealed: Uint8Array };

/** The tenant's keys by which a token may be verified or refused, the latest activation first. One round trip. */
export async function list(queryable: Queryable, tenantId: string): Promise<IssuerKey[]> {
  const { rows } = await queryable.query<IssuerKey>(
    `SELECT id, kid, algorithm, public_jwk AS "publicJwk", private_sealed AS "privateSealed", revoked_at IS NOT NULL AS "isRevoked",
            activate_at <= now() AND revoked_at IS NULL AND private_sealed IS NOT NULL AS "canSign"
     FROM issuer_keys
     WHERE tenant_id = $1 AND (remove_at IS NULL OR remove_at > now())
     ORDER BY activate_at DESC, kid`,
    [tenantId],
  );
  return rows;
}

/** Only for the comparison of the master keys with the database. */
export async function findNewest(queryable: Queryable): Promise<SealedKey | undefined> {
  const { rows } = await queryable.query<SealedKey>(
    `SELECT tenant_id AS "tenantId", kid, private_sealed AS "privateSealed" FROM issuer_keys WHERE private_sealed IS NOT NULL
     ORDER BY created_at DESC LIMIT 1`,
  );
  return rows[0];
}
