// The table of enrollment tokens. It stores only their hashes.
import {
  bytes,
  defineTable,
  given,
  nullable,
  primaryKey,
  type RowOf,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const ENROLLMENT_TOKEN = defineTable('enrollment_tokens', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  agentId: uuid(),
  hash: bytes(),
  createdAt: given(time()),
  expiresAt: time(),
  usedAt: nullable(time()),
  keyId: nullable(uuid()),
  revokedAt: nullable(time()),
});

export type EnrollmentTokenRow = RowOf<typeof ENROLLMENT_TOKEN>;
