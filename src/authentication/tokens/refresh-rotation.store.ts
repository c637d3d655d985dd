// SQL of the use of refresh tokens. When several requests use one token, even in several processes, one conditional
// UPDATE decides which use rotates it.

import { type AuditRecord, ENTRY_COLUMNS, insertEntries } from '../../audit/audit.ts';
import { AUTHENTICATION_FILTERS } from '../../events/catalogue.ts';
import { HOLDER_VERSION } from '../../identity/keys/key.ts';
import { columnsOf } from '../../platform/columns.ts';
import { type Flat, nestRow } from '../../platform/database/nested-row.ts';
import { changed, many } from '../../platform/database/statements.ts';
import { batchOf } from '../../platform/database/table.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { usedInTime } from '../../platform/database/used-in-time.ts';
import { isHeard } from '../../webhooks/intake/fan-out.ts';
import { type EndedRefreshToken, revoke } from './refresh-token.store.ts';
import { MOST_REPEATS, type StoredRefreshToken } from './refresh-token.ts';
import { REFRESH_TOKEN, type RefreshTokenRow } from './token.model.ts';

type Use = NonNullable<StoredRefreshToken['use']>;

/** `use.at` is null until the token is used; `n` is the number of the name. */
type Row = Omit<StoredRefreshToken, 'use'> & {
  readonly n: number;
  readonly use: { readonly [Member in 'at' | 'request']: Use[Member] | null } & Pick<Use, 'successor'>;
};

/** A refresh token as a request names it. */
export type RefreshTokenName = Pick<RefreshTokenRow, 'tenantId' | 'hash'>;

const NAMES = batchOf(REFRESH_TOKEN, ['tenantId', 'hash']);

/** The successor of a token, and the request that spends the token. */
export type Rotation = {
  readonly tokenId: string;
  /** The version of key and agent by which the tokens were decided. */
  readonly version: string;
  /** SHA-256 of the request. */
  readonly request: Uint8Array;
  readonly successor: {
    readonly id: string;
    readonly hash: Uint8Array;
    readonly audience: string;
    readonly jkt: string | undefined;
    readonly accessTokenId: string;
  };
};

const readTokens = many<Flat<Row, 'use' | 'use.successor' | 'agent' | 'key'>, unknown[]>(`
SELECT asked.n::int AS n, t.id, t.tenant_id, t.family_id, t.key_id, t.client_id, t.scopes, t.audience, t.jkt, t.created_at, t.family_expires_at,
  t.revoked_at IS NOT NULL OR tenant.suspended_at IS NOT NULL OR coalesce(t.created_at <= tenant.resumed_at, false) AS is_revoked,
  clock_timestamp() AS now,
  CASE WHEN t.used_request IS NOT NULL AND s.id IS NOT NULL THEN t.used_at END AS "use.at", t.used_request AS "use.request",
  s.id AS "use.successor.id", s.hash AS "use.successor.hash", s.used_at IS NULL AND s.revoked_at IS NULL AS "use.successor.is_fresh",
  cardinality(s.access_token_ids) - 1 AS "use.successor.repeats",
  a.id AS "agent.id", a.name AS "agent.name", a.capabilities AS "agent.capabilities", a.status AS "agent.status",
  a.deleted_at IS NOT NULL AS "agent.is_deleted", a.scopes AS "agent.scopes",
  a.dpop_bound_access_tokens AS "agent.dpop_bound_access_tokens",
  coalesce(a.audience, tenant.audience, tenant.base_url) || a.audiences AS "agent.audiences",
  k.fingerprint AS "key.fingerprint", coalesce(k.state, 'revoked') AS "key.state", k.sunset_at AS "key.sunset_at",
  ${HOLDER_VERSION} AS version, ${isHeard('t.tenant_id', '$3')} AS is_heard
FROM unnest($1::uuid[], $2::bytea[]) WITH ORDINALITY AS asked (tenant_id, hash, n)
  JOIN refresh_tokens t ON t.hash = asked.hash AND t.tenant_id = asked.tenant_id
  JOIN tenants tenant ON tenant.id = t.tenant_id
  JOIN agents a ON a.id = t.agent_id
  LEFT JOIN agent_keys k ON k.id = t.key_id
  LEFT JOIN refresh_tokens s ON s.id = t.successor_id`);

// The use of a refresh token locks its agent, its key and the first token of its family. A later transaction that
// changes one of them, or ends the family and therefore locks the agent, waits for the use, and then also ends the
// tokens of this use. When the other transaction is first, the use waits, and meets another version or an ended family.
// `ends_at` is compared with the time after the wait.
const heldOf = (token: string, version: string) => `
  SELECT t.id, least(t.family_expires_at, CASE WHEN k.state = 'deprecated' THEN k.sunset_at END) AS ends_at FROM ${token}
    JOIN agents a ON a.id = t.agent_id AND a.tenant_id = t.tenant_id JOIN agent_keys k ON k.id = t.key_id
    JOIN refresh_tokens root ON root.id = t.family_id
  WHERE root.revoked_at IS NULL AND ${HOLDER_VERSION} = ${version}`;

const holderOf = (version: string) => `
holder AS MATERIALIZED (${heldOf('refresh_tokens t', version)} AND t.id = $1
  FOR KEY SHARE OF a, k, root
)`;

// In the order of `rotate`, below.
const spend = changed<[string, string, Uint8Array, Uint8Array, string, string | undefined, string, string]>(`
WITH ${holderOf('$8')}, spent AS (
  UPDATE refresh_tokens t SET used_at = date_trunc('milliseconds', clock_timestamp()), successor_id = $2, used_request = $3
  FROM holder
  WHERE t.id = holder.id AND t.used_at IS NULL AND t.revoked_at IS NULL AND holder.ends_at > clock_timestamp()
  RETURNING t.*
)
INSERT INTO refresh_tokens (id, tenant_id, family_id, agent_id, key_id, hash, client_id, scopes, audience, jkt, family_expires_at,
  access_token_ids)
SELECT $2, tenant_id, family_id, agent_id, key_id, $4, client_id, scopes, $5, $6, family_expires_at, ARRAY[$7::uuid] FROM spent`);

const ASKED = columnsOf<Rotation>(
  { uuid: ['tokenId'], bytea: ['request'], text: ['version'] },
  {
    id: ['uuid', ({ successor }) => successor.id],
    hash: ['bytea', ({ successor }) => successor.hash],
    audience: ['text', ({ successor }) => successor.audience],
    jkt: ['text', ({ successor }) => successor.jkt],
    access_token_id: ['uuid', ({ successor }) => successor.accessTokenId],
  },
);

// The parameter of the filters.
const HEARD = `$${ASKED.count + 1}`;

// Rotates the tokens whose events no subscription gets. Rows that are locked are skipped, so that no request waits for
// locks that concern another one.
const spendTogether = many<Pick<RefreshTokenRow, 'successorId'>, unknown[]>(`
WITH asked AS (
  SELECT * FROM ${ASKED.from('row')}
), holder AS MATERIALIZED (${heldOf('asked JOIN refresh_tokens t ON t.id = asked.token_id', 'asked.version')}
    AND t.used_at IS NULL AND t.revoked_at IS NULL AND t.family_expires_at > now() AND NOT ${isHeard('t.tenant_id', HEARD)}
  FOR KEY SHARE OF a, k, root SKIP LOCKED FOR NO KEY UPDATE OF t SKIP LOCKED
), used AS MATERIALIZED (${usedInTime('holder')}
), spent AS (
  UPDATE refresh_tokens t SET used_at = used.at, successor_id = asked.id, used_request = asked.request
  FROM asked JOIN used ON used.id = asked.token_id
  WHERE t.id = used.id AND t.used_at IS NULL AND t.revoked_at IS NULL
  RETURNING t.*
), new_refresh_tokens AS (
  INSERT INTO refresh_tokens (id, tenant_id, family_id, agent_id, key_id, hash, client_id, scopes, audience, jkt, family_expires_at,
    access_token_ids)
  SELECT asked.id, s.tenant_id, s.family_id, s.agent_id, s.key_id, asked.hash, s.client_id, s.scopes, asked.audience, asked.jkt,
    s.family_expires_at, ARRAY[asked.access_token_id]
  FROM asked JOIN spent s ON s.successor_id = asked.id
), new_audit_entries AS (
  ${insertEntries({
    first: ASKED.count + 2,
    only: { name: 'successor_id', type: 'uuid', of: 'spent' },
    repeated: false,
  })}
)
SELECT successor_id FROM spent`);

/** Records the new access token of a successor that is issued again. @returns false when it no longer can be */
export const repeat = changed<
  [tokenId: string, successorId: string, accessTokenId: string, version: string]
>(`
WITH ${holderOf('$4')}
UPDATE refresh_tokens s SET access_token_ids = s.access_token_ids || $3::uuid
FROM holder
WHERE s.id = $2 AND s.used_at IS NULL AND s.revoked_at IS NULL AND holder.ends_at > clock_timestamp()
  AND cardinality(s.access_token_ids) <= ${MOST_REPEATS}`);

/**
 * Reads tokens, and all rows that decide their use. One round trip.
 * @returns for each name, in order, the token or undefined
 */
export async function find(
  queryable: Queryable,
  names: readonly RefreshTokenName[],
): Promise<(StoredRefreshToken | undefined)[]> {
  const rows = await readTokens(queryable, ...NAMES.of(names), AUTHENTICATION_FILTERS);
  const found = new Map(
    rows.map((row) => {
      const { n, use, ...token } = nestRow<Row>(row);
      return [n, { ...token, use: isUsed(use) ? use : null }];
    }),
  );
  return names.map((_, index) => found.get(index + 1));
}

const isUsed = (use: Row['use']): use is Use => use.at !== null;

/**
 * Spends a token and inserts its successor, both or none.
 * @returns true for exactly one of several concurrent calls; false also when key or agent has changed
 */
export function rotate(
  unit: Queryable,
  { tokenId, version, request, successor }: Rotation,
): Promise<boolean> {
  const { id, hash, audience, jkt, accessTokenId } = successor;
  return spend(unit, tokenId, id, request, hash, audience, jkt, accessTokenId, version);
}

/**
 * Spends tokens, inserts their successors and audit entries, for each token all or nothing. One round trip, one
 * transaction. A token is left as it is when its rows are locked or have changed, when it may not be used, or when a
 * subscription gets its events.
 * @returns for each rotation, in order, whether it was made
 */
export async function rotateTogether(
  queryable: Queryable,
  rotations: readonly (Rotation & { readonly audit: readonly AuditRecord[] })[],
): Promise<boolean[]> {
  const rows = await spendTogether(
    queryable,
    ...ASKED.of(rotations),
    AUTHENTICATION_FILTERS,
    ...ENTRY_COLUMNS.of(rotations.flatMap(({ audit }) => audit)),
    rotations.flatMap(({ audit, successor }) => audit.map(() => successor.id)),
  );
  const made = new Set(rows.map(({ successorId }) => successorId));
  return rotations.map(({ successor }) => made.has(successor.id));
}

const lockAgentOf = changed<[familyId: string]>(
  'SELECT 1 FROM agents WHERE id = (SELECT agent_id FROM refresh_tokens WHERE id = $1) FOR UPDATE',
);

const revokeFamily = many<EndedRefreshToken, [familyId: string, reason: string]>(
  revoke('family_id = $1', '$2'),
);

/**
 * Ends a family in two statements. The first waits for running uses and for token exchanges with the agent, the second
 * also ends the tokens of those uses.
 * @returns the tokens that were not revoked before
 */
export async function endFamily(
  unit: Queryable,
  familyId: string,
  reason: string,
): Promise<EndedRefreshToken[]> {
  await lockAgentOf(unit, familyId);
  return revokeFamily(unit, familyId, reason);
}
