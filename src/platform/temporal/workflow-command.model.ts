// The table of commands for entity workflows, which wait for their hand-over to Temporal.
import { defineTable, given, integer, primaryKey, text, time, uuid } from '../database/table.ts';
import type { EntityWorkflow } from './names.ts';

export const WORKFLOW_COMMAND = defineTable('workflow_commands', {
  id: primaryKey(given(uuid())),
  tenantId: uuid(),
  workflow: text<EntityWorkflow>(),
  entityId: uuid(),
  tries: given(integer()),
  claimableAt: given(time()),
  createdAt: given(time()),
});
