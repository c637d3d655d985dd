// SQL of refresh tokens. Statements receive a token's hash, never its text.
import { deleteOldest } from '../../platform/database/deletion.ts';
import { many, one } from '../../platform/database/statements.ts';
import type { RefreshTokenRow } from './token.model.ts';

/** A refresh token that was live before this call ended it. */
export type EndedRefreshToken = Pick<RefreshTokenRow, 'tenantId' | 'agentId' | 'accessTokenIds'>;

/** SQL that revokes the tokens of a condition for a reason, a parameter. They are locked in the order of their ids. */
export const revoke = (condition: string, reason: string) => `
WITH live AS (
  SELECT id FROM refresh_tokens WHERE ${condition} AND revoked_at IS NULL ORDER BY id FOR UPDATE
)
UPDATE refresh_tokens SET revoked_at = now(), revoked_reason = ${reason}
FROM live WHERE refresh_tokens.id = live.id
RETURNING tenant_id, agent_id, access_token_ids`;

/**
 * Finds the key with which the agent authenticated to get an access token. The refresh token was created within seconds
 * of the access token, and both ids contain their times. Therefore only the agent's rows of that time are read.
 */
export const findKeyOf = one<
  Pick<RefreshTokenRow, 'keyId'>,
  [tenantId: string, agentId: string, accessTokenId: string, madeAtSeconds: number]
>(`
SELECT key_id FROM refresh_tokens
WHERE tenant_id = $1 AND agent_id = $2 AND access_token_ids @> ARRAY[$3::uuid]
  AND id >= uuid_of_time(to_timestamp($4) - interval '1 minute')
  AND id < uuid_of_time(to_timestamp($4) + interval '1 minute')`);

/** Revokes the refresh tokens of an agent, or those that one of its keys got. @returns the tokens that were live */
export const revokeOfAgent = many<
  EndedRefreshToken,
  [tenantId: string, agentId: string, keyId: string | null, reason: string]
>(revoke('tenant_id = $1 AND agent_id = $2 AND ($3::uuid IS NULL OR key_id = $3)', '$4'));

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
