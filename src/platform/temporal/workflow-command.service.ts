// Asks workflows to look at what they own, inside the transaction of the change. It must never speak to Temporal: a worker does, later.

import type { Queryable, Transaction } from '../database/transaction.ts';
import type { WorkflowCommand } from './workflow-command.store.ts';
import * as store from './workflow-command.store.ts';

export type { WorkflowCommand } from './workflow-command.store.ts';

/** The outbox of entity workflows as the rooms use it. */
export function createWorkflowCommandService() {
  return {
    /**
     * Once the caller's transaction commits, each entity's workflow is started where none runs, and told to look at its entity
     * again: at least once, also when Temporal is away meanwhile. One round trip whatever their number, none for an empty list.
     */
    add: async (unit: Transaction, commands: readonly WorkflowCommand[]): Promise<void> => {
      if (commands.length > 0) await store.insert(unit, commands);
    },

    /** Whether a command for this entity waits to be handed over. */
    isWaiting: (queryable: Queryable, command: WorkflowCommand): Promise<boolean> =>
      store.isWaiting(queryable, command),

    /** Commands that nobody has handed over within `ageMs` milliseconds: how many, and since when the oldest. */
    findStuck: (queryable: Queryable, ageMs: number): Promise<{ count: number; oldest: Date | null }> =>
      store.findStuck(queryable, ageMs),
  };
}

export type WorkflowCommandService = ReturnType<typeof createWorkflowCommandService>;
