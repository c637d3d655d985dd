// The first refresh token of a family, and the text that inserts such tokens. Pure.
import { columnsOf } from '../../platform/columns.ts';

export type NewRefreshToken = {
  readonly id: string;
  readonly tenantId: string;
  readonly familyId: string;
  readonly agentId: string;
  readonly keyId: string;
  readonly hash: Uint8Array;
  readonly clientId: string;
  readonly scopes: readonly string[];
  readonly audience: string;
  readonly jkt?: string | undefined;
  /** `jti` of the access token that is issued with it. */
  readonly accessTokenId?: string | undefined;
  /** Seconds from the insert to the end of the token's family. */
  readonly familyLifetime: number;
};

/** The columns that `insertRefreshTokens` reads. */
export const NEW_TOKEN_COLUMNS = columnsOf<NewRefreshToken>(
  {
    uuid: ['id', 'tenantId', 'familyId', 'agentId', 'keyId', 'accessTokenId'],
    bytea: ['hash'],
    text: ['clientId', 'audience', 'jkt'],
    float8: ['familyLifetime'],
  },
  { joined: ['text', ({ scopes }) => scopes.join(' ')] },
);

/** Text that inserts the first tokens of families. @param source rows with the columns of `NEW_TOKEN_COLUMNS` */
export const insertRefreshTokens = (source: string) => `
INSERT INTO refresh_tokens
  (id, tenant_id, family_id, agent_id, key_id, hash, client_id, scopes, audience, jkt, family_expires_at, access_token_ids)
SELECT id, tenant_id, family_id, agent_id, key_id, hash, client_id, string_to_array(joined, ' '), audience, jkt,
  now() + make_interval(secs => family_lifetime), array_remove(ARRAY[access_token_id], NULL)
FROM ${source}`;
