// SQL of the use of refresh tokens. One conditional UPDATE decides who rotates a token, whatever the number of processes.

import type { KeyState } from '../../identity/keys/key.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { EndedRefreshToken } from './refresh-token.store.ts';
import type { StoredRefreshToken } from './refresh-token.ts';

type Row = {
  id: string;
  tenant_id: string;
  family_id: string;
  key_id: string;
  client_id: string;
  scopes: string[];
  audience: string;
  jkt: string | null;
  created_at: Date;
  family_expires_at: Date;
  is_revoked: boolean;
  now: Date;
  used_at: Date | null;
  used_request: Buffer | null;
  successor_id: string | null;
  successor_hash: Buffer | null;
  successor_is_fresh: boolean | null;
  agent_id: string;
  agent_name: string;
  agent_capabilities: string[];
  agent_status: 'active' | 'suspended';
  agent_is_deleted: boolean;
  agent_scopes: string[];
  agent_audiences: string[];
  key_fingerprint: string | null;
  key_state: KeyState;
  key_sunset_at: Date | null;
};

const FIND = `
SELECT t.id, t.tenant_id, t.family_id, t.key_id, t.client_id, t.scopes, t.audience, t.jkt, t.created_at, t.family_expires_at,
  t.revoked_at IS NOT NULL OR tenant.suspended_at IS NOT NULL OR coalesce(t.created_at <= tenant.resumed_at, false) AS is_revoked, clock_timestamp() AS now, t.used_at, t.used_request,
  s.id AS successor_id, s.hash AS successor_hash, s.used_at IS NULL AND s.revoked_at IS NULL AS successor_is_fresh,
  a.id AS agent_id, a.name AS agent_name, a.capabilities AS agent_capabilities, a.status AS agent_status,
  a.deleted_at IS NOT NULL AS agent_is_deleted, a.scopes AS agent_scopes,
  coalesce(a.audience, tenant.audience, tenant.base_url) || a.audiences AS agent_audiences,
  k.fingerprint AS key_fingerprint, coalesce(k.state, 'revoked') AS key_state, k.sunset_at AS key_sunset_at
FROM refresh_tokens t
  JOIN tenants tenant ON tenant.id = t.tenant_id
  JOIN agents a ON a.id = t.agent_id
  LEFT JOIN agent_keys k ON k.id = t.key_id
  LEFT JOIN refresh_tokens s ON s.id = t.successor_id
WHERE t.hash = $1 AND t.tenant_id = $2`;

// Agent, key and the family's first token are held while a token of it is used: whoever ends one of them waits, and then also ends what
// came of this use; who came first is seen after the wait. The end of a family locks its first token FOR UPDATE for that.
const HOLDER = `
holder AS MATERIALIZED (
  SELECT t.id FROM refresh_tokens t
    JOIN agents a ON a.id = t.agent_id JOIN agent_keys k ON k.id = t.key_id JOIN refresh_tokens root ON root.id = t.family_id
  WHERE t.id = $1 AND a.deleted_at IS NULL AND a.status = 'active' AND root.revoked_at IS NULL
    AND (k.state = 'active' OR (k.state = 'deprecated' AND k.sunset_at > now()))
  FOR KEY SHARE OF a, k, root
)`;

const ROTATE = `
WITH ${HOLDER}, spent AS (
  UPDATE refresh_tokens t SET used_at = clock_timestamp(), successor_id = $2, used_request = $3
  FROM holder
  WHERE t.id = holder.id AND t.used_at IS NULL AND t.revoked_at IS NULL AND t.family_expires_at > now()
  RETURNING t.*
)
INSERT INTO refresh_tokens (id, tenant_id, family_id, agent_id, key_id, hash, client_id, scopes, audience, jkt, family_expires_at,
  access_token_ids)
SELECT $2, tenant_id, family_id, agent_id, key_id, $4, client_id, scopes, $5, $6, family_expires_at, ARRAY[$7::uuid] FROM spent`;

const REPEAT = `
WITH ${HOLDER}
UPDATE refresh_tokens s SET access_token_ids = s.access_token_ids || $3::uuid
FROM holder
WHERE s.id = $2 AND s.used_at IS NULL AND s.revoked_at IS NULL AND s.family_expires_at > now()`;

/** The token with this hash and everything that its use depends on. One round trip. */
export async function find(
  queryable: Queryable,
  tenantId: string,
  hash: Uint8Array,
): Promise<StoredRefreshToken | undefined> {
  const { rows } = await queryable.query<Row>(FIND, [hash, tenantId]);
  return rows[0] === undefined ? undefined : read(rows[0]);
}

/** Spends a token and adds its successor, both or none. @returns whether this call has done it: of concurrent ones exactly one does */
export async function rotate(
  unit: Queryable,
  id: string,
  request: Uint8Array,
  successor: {
    readonly id: string;
    readonly hash: Uint8Array;
    readonly audience: string;
    readonly jkt: string | undefined;
    readonly accessTokenId: string;
  },
): Promise<boolean> {
  const { rowCount } = await unit.query(ROTATE, [
    id,
    successor.id,
    request,
    successor.hash,
    successor.audience,
    successor.jkt ?? null,
    successor.accessTokenId,
  ]);
  return rowCount === 1;
}

/** Notes a further access token on a successor that is handed out again. @returns false when it cannot be any more */
export async function repeat(
  unit: Queryable,
  id: string,
  successorId: string,
  accessTokenId: string,
): Promise<boolean> {
  const { rowCount } = await unit.query(REPEAT, [id, successorId, accessTokenId]);
  return rowCount === 1;
}

/**
 * Ends a family. Two statements: the second one sees what was added while the first one waited for uses under way.
 * @returns the tokens that were not revoked yet
 */
export async function endFamily(
  unit: Queryable,
  familyId: string,
  reason: string,
): Promise<EndedRefreshToken[]> {
  await unit.query('SELECT 1 FROM refresh_tokens WHERE id = $1 FOR UPDATE', [familyId]);
  const { rows } = await unit.query<{ tenant_id: string; access_token_ids: string[] }>(
    `WITH live AS (
           SELECT id FROM refresh_tokens WHERE family_id = $1 AND revoked_at IS NULL ORDER BY id FOR UPDATE
         )
         UPDATE refresh_tokens SET revoked_at = now(), revoked_reason = $2
         FROM live WHERE refresh_tokens.id = live.id RETURNING tenant_id, access_token_ids`,
    [familyId, reason],
  );
  return rows.map((row) => ({ tenantId: row.tenant_id, accessTokenIds: row.access_token_ids }));
}

function read(row: Row): StoredRefreshToken {
  const { used_at, used_request, successor_id, successor_hash } = row;
  const isUsed =
    used_at !== null && used_request !== null && successor_id !== null && successor_hash !== null;
  return {
    id: row.id,
    tenantId: row.tenant_id,
    familyId: row.family_id,
    keyId: row.key_id,
    clientId: row.client_id,
    scopes: row.scopes,
    audience: row.audience,
    jkt: row.jkt,
    createdAt: row.created_at,
    familyExpiresAt: row.family_expires_at,
    isRevoked: row.is_revoked,
    now: row.now,
    use: isUsed
      ? {
          at: used_at,
          request: used_request,
          successor: { id: successor_id, hash: successor_hash, isFresh: row.successor_is_fresh === true },
        }
      : null,
    agent: {
      id: row.agent_id,
      name: row.agent_name,
      capabilities: row.agent_capabilities,
      status: row.agent_status,
      isDeleted: row.agent_is_deleted,
      scopes: row.agent_scopes,
      audiences: row.agent_audiences,
    },
    key: { fingerprint: row.key_fingerprint, state: row.key_state, sunsetAt: row.key_sunset_at },
  };
}
