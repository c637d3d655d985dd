// SQL of the use of refresh tokens. When several requests use one token, even in several processes, one conditional
// UPDATE decides which use rotates it.

import { nestRow } from '../../platform/database/nested-row.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { EndedRefreshToken } from './refresh-token.store.ts';
import type { StoredRefreshToken } from './refresh-token.ts';

/** `use.at` is null until the token is used. */
type Row = Omit<StoredRefreshToken, 'use'> & {
  readonly use: NonNullable<StoredRefreshToken['use']> | { readonly at: null };
};

const FIND = `
SELECT t.id, t.tenant_id AS "tenantId", t.family_id AS "familyId", t.key_id AS "keyId", t.client_id AS "clientId", t.scopes, t.audience,
  t.jkt, t.created_at AS "createdAt", t.family_expires_at AS "familyExpiresAt",
  t.revoked_at IS NOT NULL OR tenant.suspended_at IS NOT NULL OR coalesce(t.created_at <= tenant.resumed_at, false) AS "isRevoked",
  clock_timestamp() AS now,
  CASE WHEN t.used_request IS NOT NULL AND s.id IS NOT NULL THEN t.used_at END AS "use.at", t.used_request AS "use.request",
  s.id AS "use.successor.id", s.hash AS "use.successor.hash", s.used_at IS NULL AND s.revoked_at IS NULL AS "use.successor.isFresh",
  a.id AS "agent.id", a.name AS "agent.name", a.capabilities AS "agent.capabilities", a.status AS "agent.status",
  a.deleted_at IS NOT NULL AS "agent.isDeleted", a.scopes AS "agent.scopes",
  coalesce(a.audience, tenant.audience, tenant.base_url) || a.audiences AS "agent.audiences",
  k.fingerprint AS "key.fingerprint", coalesce(k.state, 'revoked') AS "key.state", k.sunset_at AS "key.sunsetAt"
FROM refresh_tokens t
  JOIN tenants tenant ON tenant.id = t.tenant_id
  JOIN agents a ON a.id = t.agent_id
  LEFT JOIN agent_keys k ON k.id = t.key_id
  LEFT JOIN refresh_tokens s ON s.id = t.successor_id
WHERE t.hash = $1 AND t.tenant_id = $2`;

// The use of a refresh token locks its agent, its key and the first token of its family. A later transaction that ends
// one of them waits for the use, and then also ends the tokens of this use. When the other transaction is first, the
// use waits and reads its result. The end of a family locks the first token FOR UPDATE.
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

/** Reads the token with this hash, and all rows that decide its use. One round trip. */
export async function find(
  queryable: Queryable,
  tenantId: string,
  hash: Uint8Array,
): Promise<StoredRefreshToken | undefined> {
  const { rows } = await queryable.query(FIND, [hash, tenantId]);
  if (rows[0] === undefined) return undefined;
  const { use, ...token } = nestRow<Row>(rows[0]);
  return { ...token, use: use.at === null ? null : use };
}

/** Spends a token and inserts its successor, both or none. @returns true for exactly one of several concurrent calls */
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

/** Records the new access token of a successor that is issued again. @returns false when it no longer can be */
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
 * Ends a family in two statements. The first waits for running uses, the second also ends the tokens of those uses.
 * @returns the tokens that were not revoked before
 */
export async function endFamily(
  unit: Queryable,
  familyId: string,
  reason: string,
): Promise<EndedRefreshToken[]> {
  await unit.query('SELECT 1 FROM refresh_tokens WHERE id = $1 FOR UPDATE', [familyId]);
  const { rows } = await unit.query<EndedRefreshToken>(
    `WITH live AS (
           SELECT id FROM refresh_tokens WHERE family_id = $1 AND revoked_at IS NULL ORDER BY id FOR UPDATE
         )
         UPDATE refresh_tokens SET revoked_at = now(), revoked_reason = $2
         FROM live WHERE refresh_tokens.id = live.id
         RETURNING tenant_id AS "tenantId", access_token_ids AS "accessTokenIds"`,
    [familyId, reason],
  );
  return rows;
}
