// SQL of the directory of a tenant's keys. Each statement is bound to one tenant.
import type { PublicKey } from '../../platform/crypto/public-key.ts';
import type { Queryable, Transaction } from '../../platform/database/transaction.ts';
import { MOST_LISTED } from './key-directory.ts';

export type ListedKey = PublicKey & { readonly input: string; readonly signature: Buffer };

/** The signatures of keys that may authenticate, of active agents. */
const LIVE = `
FROM directory_signatures listed JOIN agent_keys key ON key.id = listed.key_id JOIN agents agent ON agent.id = key.agent_id
WHERE listed.tenant_id = $1 AND listed.expires_at > now() AND agent.status = 'active' AND agent.deleted_at IS NULL
  AND (key.state = 'active' OR key.state = 'deprecated' AND key.sunset_at > now())`;

/** Lists the keys of the directory, the oldest first. One round trip. */
export async function list(queryable: Queryable, tenantId: string): Promise<ListedKey[]> {
  const { rows } = await queryable.query<ListedKey>(
    `SELECT key.algorithm, key.public_key AS raw, listed.input, listed.signature ${LIVE} ORDER BY listed.key_id LIMIT $2`,
    [tenantId, MOST_LISTED],
  );
  return rows;
}

/** Counts the keys of the directory without this one. */
export async function countOthers(queryable: Queryable, tenantId: string, keyId: string): Promise<number> {
  const { rows } = await queryable.query<{ count: number }>(
    `SELECT count(*)::int AS count ${LIVE} AND listed.key_id <> $2`,
    [tenantId, keyId],
  );
  return rows[0]?.count ?? 0;
}

/** Keeps the signature of a key instead of an earlier one. @returns false when there is no such key any more */
export async function save(
  transaction: Transaction,
  row: { tenantId: string; keyId: string; input: string; signature: Uint8Array; expiresAt: Date },
): Promise<boolean> {
  const { rowCount } = await transaction.query(
    `INSERT INTO directory_signatures (key_id, tenant_id, input, signature, expires_at)
     SELECT id, tenant_id, $3, $4, $5 FROM agent_keys WHERE id = $1 AND tenant_id = $2
     ON CONFLICT (key_id) DO UPDATE
     SET input = excluded.input, signature = excluded.signature, expires_at = excluded.expires_at`,
    [row.keyId, row.tenantId, row.input, Buffer.from(row.signature), row.expiresAt],
  );
  return rowCount > 0;
}
