// The table of the applications' secrets. It stores only their hashes.
import {
  bytes,
  defineTable,
  type NewRowOf,
  nullable,
  type RowOf,
  TENANT_ROW,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const APPLICATION_SECRET = defineTable('application_secrets', {
  ...TENANT_ROW,
  applicationId: uuid(),
  hash: bytes(),
  expiresAt: nullable(time()),
});

export type ApplicationSecretRow = RowOf<typeof APPLICATION_SECRET>;
export type NewApplicationSecretRow = NewRowOf<typeof APPLICATION_SECRET>;
