// Enqueues commands for entity workflows in the transaction of the change. A worker later hands them over to Temporal.

import type { Queryable, Transaction } from '../database/transaction.ts';
import type { WorkflowCommand } from './workflow-command.store.ts';
import * as store from './workflow-command.store.ts';

export type { WorkflowCommand } from './workflow-command.store.ts';

/** The outbox of entity workflows, for the rooms. */
export class WorkflowCommandService {
  /**
   * Enqueues commands. After the commit the workflow of each entity is signaled or started at least once, if
   * necessary after an outage of Temporal. One round trip for all commands, none for an empty list.
   */
  add = async (unit: Transaction, commands: readonly WorkflowCommand[]): Promise<void> => {
    if (commands.length > 0) await store.insert(unit, commands);
  };

  /** True while a command for this entity waits for its hand-over. */
  isWaiting = (queryable: Queryable, command: WorkflowCommand): Promise<boolean> =>
    store.isWaiting(queryable, command);
}
