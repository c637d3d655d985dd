// The tables of temporal.
import { defineTable, given, integer, primaryKey, text, time, uuid } from '../database/table.ts';

export const WORKFLOW_COMMAND = defineTable('workflow_commands', {
  id: primaryKey(given(uuid())),
  tenantId: uuid(),
  workflow: text(),
  entityId: uuid(),
  tries: given(integer()),
  claimableAt: given(time()),
  createdAt: given(time()),
});
