// SQL of the directory of a tenant's keys. Each statement is bound to one tenant.
import { changed, many, value } from '../../platform/database/statements.ts';
import type { RowOf } from '../../platform/database/table.ts';
import type { DIRECTORY_SIGNATURE, KeyRow } from './key.model.ts';

type SignatureRow = RowOf<typeof DIRECTORY_SIGNATURE>;

export type ListedKey = Pick<KeyRow, 'algorithm'> & { readonly raw: Uint8Array } & Pick<
    SignatureRow,
    'input' | 'signature'
  >;

/** The signatures of keys that may authenticate, of active agents. */
const LIVE = `
FROM directory_signatures listed JOIN agent_keys key ON key.id = listed.key_id JOIN agents agent ON agent.id = key.agent_id
WHERE listed.tenant_id = $1 AND listed.expires_at > now() AND agent.status = 'active' AND agent.deleted_at IS NULL
  AND (key.state = 'active' OR key.state = 'deprecated' AND key.sunset_at > now())`;

/** Lists the keys of the directory, the oldest first. One round trip. */
export const list = many<ListedKey, [tenantId: string, limit: number]>(
  `SELECT key.algorithm, key.public_key AS raw, listed.input, listed.signature ${LIVE} ORDER BY listed.key_id LIMIT $2`,
);

/** Counts the keys of the directory without this one. */
export const countOthers = value<number, [tenantId: string, keyId: string]>(
  `SELECT count(*)::int ${LIVE} AND listed.key_id <> $2`,
);

/** Keeps the signature of a key instead of an earlier one. @returns false when there is no such key any more */
export const save = changed<
  [tenantId: string, keyId: string, input: string, signature: Uint8Array, expiresAt: Date]
>(`
INSERT INTO directory_signatures (key_id, tenant_id, input, signature, expires_at)
SELECT id, tenant_id, $3, $4, $5 FROM agent_keys WHERE id = $2 AND tenant_id = $1
ON CONFLICT (key_id) DO UPDATE
SET input = excluded.input, signature = excluded.signature, expires_at = excluded.expires_at`);
