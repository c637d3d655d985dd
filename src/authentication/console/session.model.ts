// The tables of the console: codes of links that sign in once, and sessions. Rows have the SHA-256 of a secret, and a
// session the ids of its latest tokens.
import {
  bytes,
  defineTable,
  given,
  nullable,
  primaryKey,
  type RowOf,
  time,
  uuid,
  uuids,
} from '../../platform/database/table.ts';

export const CONSOLE_CODE = defineTable('console_codes', {
  hash: primaryKey(bytes()),
  tenantId: uuid(),
  applicationId: uuid(),
  expiresAt: time(),
});

export const CONSOLE_SESSION = defineTable('console_sessions', {
  id: primaryKey(uuid()),
  hash: bytes(),
  tenantId: uuid(),
  applicationId: uuid(),
  secretId: nullable(uuid()),
  createdAt: given(time()),
  usedAt: given(time()),
  tokenIds: given(uuids()),
});

export type ConsoleSessionRow = RowOf<typeof CONSOLE_SESSION>;
