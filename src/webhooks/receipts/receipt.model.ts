// Receipts: an event that ended an agent's access, and how many get it. Its id is the event's.
import {
  defineTable,
  given,
  integer,
  nullable,
  primaryKey,
  type RowOf,
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

export type ReceiptRow = RowOf<typeof RECEIPT>;
