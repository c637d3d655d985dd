// The table of enrollment tokens. It stores only their hashes.
import {
  bytes,
  defineTable,
  nullable,
  type RowOf,
  TENANT_ROW,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const ENROLLMENT_TOKEN = defineTable('enrollment_tokens', {
  ...TENANT_ROW,
  agentId: uuid(),
  hash: bytes(),
  expiresAt: time(),
  usedAt: nullable(time()),
  keyId: nullable(uuid()),
  revokedAt: nullable(time()),
});

export type EnrollmentTokenRow = RowOf<typeof ENROLLMENT_TOKEN>;
