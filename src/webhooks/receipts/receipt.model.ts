// The tables of receipts.
import {
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  text,
  time,
  uuid,
} from '../../platform/database/table.ts';

export const RECEIPT = defineTable('receipts', {
  id: primaryKey(uuid()),
  tenantId: uuid(),
  agentId: uuid(),
  cause: text(),
  receivers: integer(),
  createdAt: given(time()),
  completedAt: nullable(time()),
});
