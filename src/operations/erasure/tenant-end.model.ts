// The tables of erasure.
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
  removed: given(json<unknown>()),
  removedAt: nullable(time()),
});
