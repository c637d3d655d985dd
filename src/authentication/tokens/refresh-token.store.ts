// SQL of refresh tokens. Statements receive a token's hash, never its text.
import type { AgentPart } from '../../identity/agents/agent.ts';
import { deleteOldest } from '../../platform/database/deletion.ts';
import type { Queryable } from '../../platform/database/transaction.ts';

/** A refresh token that was live before this call ended it. */
export type EndedRefreshToken = {
  readonly tenantId: string;
  readonly agentId: string;
  readonly accessTokenIds: readonly string[];
};

const revoke = async (
  unit: Queryable,
  owner: { tenantId: string; agentId: string; keyId: string | null },
  reason: string,
): Promise<EndedRefreshToken[]> => {
  const { rows } = await unit.query<EndedRefreshToken>(
    `WITH live AS (
       SELECT id FROM refresh_tokens
       WHERE tenant_id = $1 AND agent_id = $2 AND ($3::uuid IS NULL OR key_id = $3) AND revoked_at IS NULL
       ORDER BY id FOR UPDATE
     )
     UPDATE refresh_tokens SET revoked_at = now(), revoked_reason = $4
     FROM live WHERE refresh_tokens.id = live.id
     RETURNING tenant_id AS "tenantId", agent_id AS "agentId", access_token_ids AS "accessTokenIds"`,
    [owner.tenantId, owner.agentId, owner.keyId, reason],
  );
  return rows;
};

/**
 * Finds the key with which the agent authenticated to get an access token. The refresh token was created within seconds
 * of the access token, and both ids contain their times. Therefore only the agent's rows of that time are read.
 */
export async function findKeyOf(
  queryable: Queryable,
  token: AgentPart & { readonly madeAt: number },
): Promise<string | undefined> {
  const { rows } = await queryable.query<{ keyId: string }>(
    `SELECT key_id AS "keyId" FROM refresh_tokens
         WHERE tenant_id = $1 AND agent_id = $2 AND access_token_ids @> ARRAY[$3::uuid]
           AND id >= uuid_of_time(to_timestamp($4) - interval '1 minute')
           AND id < uuid_of_time(to_timestamp($4) + interval '1 minute')`,
    [token.tenantId, token.agentId, token.id, token.madeAt / 1000],
  );
  return rows[0]?.keyId;
}

/** Revokes the refresh tokens of an agent. @returns the tokens that were live */
export function revokeOfAgent(unit: Queryable, agent: { tenantId: string; id: string }, reason: string) {
  return revoke(unit, { tenantId: agent.tenantId, agentId: agent.id, keyId: null }, reason);
}

/** Revokes the refresh tokens that one key of an agent got. @returns the tokens that were live */
export function revokeOfKey(unit: Queryable, key: AgentPart, reason: string) {
  return revoke(unit, { tenantId: key.tenantId, agentId: key.agentId, keyId: key.id }, reason);
}

/**
 * Deletes families that expired 30 days ago. Revoked families are kept as long, because a second use of a token can be
 * recorded only while the token is stored.
 * @returns the number of tokens deleted, at most `limit`
 */
export const purge = deleteOldest('refresh_tokens', {
  key: ['id'],
  old: `family_expires_at < now() - interval '30 days'`,
  by: 'family_expires_at',
});
