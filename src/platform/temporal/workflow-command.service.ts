// Enqueues commands for entity workflows in the transaction of the change. A worker hands them over to Temporal later.

import type { Queryable, Transaction } from '../database/transaction.ts';
import type { WorkflowCommand } from './workflow-command.store.ts';
import * as store from './workflow-command.store.ts';

export type { WorkflowCommand } from './workflow-command.store.ts';

/** The outbox of entity workflows, for the rooms. */
export function createWorkflowCommandService() {
  return {
    /**
     * Enqueues commands. After the commit each entity's workflow is signaled to read its entity again, or started where
     * none runs: at least once, also when Temporal does not answer for a while. One round trip for any number of
     * commands, none for an empty list.
     */
    add: async (unit: Transaction, commands: readonly WorkflowCommand[]): Promise<void> => {
      if (commands.length > 0) await store.insert(unit, commands);
    },

    /** Whether a command for this entity waits to be handed over. */
    isWaiting: (queryable: Queryable, command: WorkflowCommand): Promise<boolean> =>
      store.isWaiting(queryable, command),

    /** Commands that were not handed over within `ageMs` milliseconds: their number, and the time of the oldest. */
    findStuck: (queryable: Queryable, ageMs: number): Promise<{ count: number; oldest: Date | null }> =>
      store.findStuck(queryable, ageMs),
  };
}

export type WorkflowCommandService = ReturnType<typeof createWorkflowCommandService>;
