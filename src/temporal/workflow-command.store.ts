// SQL of the outbox of entity workflows. A row says which entity to look at, and nothing of what happened to it.
import type { Queryable } from '../database/transaction.ts';
import type { EntityWorkflow } from './names.ts';

/** Asks that the workflow of this entity runs, and looks at the entity again. */
export type WorkflowCommand = {
  readonly tenantId: string;
  readonly workflow: EntityWorkflow;
  readonly entityId: string;
};

/** SQL of `workflow_commands`; every function runs on the caller's connection. */
export function createWorkflowCommandStore() {
  return {
    /** Inserts commands in one statement. */
    insert: async (unit: Queryable, commands: readonly WorkflowCommand[]): Promise<void> => {
      await unit.query(
        `INSERT INTO workflow_commands (tenant_id, workflow, entity_id)
         SELECT * FROM unnest($1::uuid[], $2::text[], $3::uuid[])`,
        [
          commands.map(({ tenantId }) => tenantId),
          commands.map(({ workflow }) => workflow),
          commands.map(({ entityId }) => entityId),
        ],
      );
    },
  };
}

export type WorkflowCommandStore = ReturnType<typeof createWorkflowCommandStore>;
