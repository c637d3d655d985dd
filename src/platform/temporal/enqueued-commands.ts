// The text by which statements enqueue commands for entity workflows.
import type { EntityWorkflow } from './names.ts';

/**
 * Inserts a command for each entity of `source`, which has `tenant_id`, and the entity's id in `id`.
 * @param source a table or expression, with its conditions
 */
export const enqueueCommands = (workflow: EntityWorkflow, source: string, id = 'id') => `
INSERT INTO workflow_commands (tenant_id, workflow, entity_id) SELECT tenant_id, '${workflow}', ${id} FROM ${source}`;
