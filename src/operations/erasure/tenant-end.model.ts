// The table of tenants that end. `removed` counts the rows that are gone, by table.
import {
  boolean,
  defineTable,
  given,
  json,
  nullable,
  primaryKey,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const TENANT_END = defineTable('tenant_ends', {
  tenantId: primaryKey(uuid()),
  askedAt: given(time()),
  eraseAt: time(),
  wasSuspended: boolean(),
  removed: given(json<Readonly<Record<string, number>>>()),
  removedAt: nullable(time()),
});
