// The tables of console.
import {
  bytes,
  defineTable,
  given,
  nullable,
  primaryKey,
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
