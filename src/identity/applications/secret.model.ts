// The table of the applications' secrets. It stores only their hashes.
import {
  bytes,
  defineTable,
  given,
  type NewRowOf,
  nullable,
  primaryKey,
  type RowOf,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const APPLICATION_SECRET = defineTable('application_secrets', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  applicationId: uuid(),
  hash: bytes(),
  createdAt: given(time()),
  expiresAt: nullable(time()),
});

export type ApplicationSecretRow = RowOf<typeof APPLICATION_SECRET>;
export type NewApplicationSecretRow = NewRowOf<typeof APPLICATION_SECRET>;
