// The tables of tokens: used client assertions, refresh tokens in families, and revocations, which end access tokens.
// A refresh token and an assertion are stored as SHA-256.
import {
  bigint,
  bytes,
  defineTable,
  exactTime,
  given,
  nullable,
  primaryKey,
  type RowOf,
  smallint,
  text,
  texts,
  time,
  transactionId,
  uuid,
  uuids,
} from '../../platform/database/table.ts';

export const CLIENT_ASSERTION = defineTable('client_assertions', {
  clientId: primaryKey(uuid()),
  jtiHash: primaryKey(bytes()),
  expiresAt: time(),
  request: nullable(bytes()),
  repeats: given(smallint()),
  usedAt: given(time()),
});

export const REFRESH_TOKEN = defineTable('refresh_tokens', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  familyId: uuid(),
  agentId: uuid(),
  keyId: uuid(),
  hash: bytes(),
  clientId: text(),
  scopes: texts(),
  audience: text(),
  jkt: nullable(text()),
  accessTokenIds: given(uuids()),
  createdAt: given(time()),
  familyExpiresAt: time(),
  usedAt: nullable(time()),
  usedRequest: nullable(bytes()),
  successorId: nullable(uuid()),
  revokedAt: nullable(time()),
  revokedReason: nullable(text()),
});

export type RefreshTokenRow = RowOf<typeof REFRESH_TOKEN>;

export const REVOCATION = defineTable('revocations', {
  id: primaryKey(given(bigint())),
  tenantId: uuid(),
  tokenId: nullable(uuid()),
  principal: nullable(uuid()),
  notBefore: given(time()),
  expiresAt: time(),
  xid: given(transactionId()),
  holder: nullable(uuid()),
  madeAt: given(exactTime()),
});

export type RevocationRow = RowOf<typeof REVOCATION>;
