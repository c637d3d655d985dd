// Wires the hand-over of commands to entity workflows, and its metric.
import type { Client } from '@temporalio/client';
import { reasonOf } from '../logging.ts';
import type { Readings } from '../metrics/reading.ts';
import type { Platform } from '../opening/platform.ts';
import { createEntityStarter } from './entity.client.ts';
import { TASK_QUEUES } from './names.ts';
import { createWorkflowCommandRunner } from './workflow-command.client.ts';
import { registerWorkflowCommandMetrics } from './workflow-command.metrics.ts';
import * as store from './workflow-command.store.ts';

/**
 * @param rooms.client starts workflows
 * @param rooms.describe returns the summary of an entity for operators
 */
export function wireWorkflowCommands(
  { database, log }: Platform,
  {
    client,
    describe,
    presenter,
  }: { client: Client } & Pick<Parameters<typeof createEntityStarter>[0], 'presenter'> &
    Pick<Parameters<typeof createWorkflowCommandRunner>[0], 'describe'>,
) {
  const entities = createEntityStarter({ client, taskQueue: TASK_QUEUES.main, presenter });
  const runner = createWorkflowCommandRunner({
    database,
    starter: entities,
    describe,
    onFailure: (error) =>
      log.warn(
        { event: 'workflow_commands.failed', reason: reasonOf(error) },
        'a workflow could not be told; trying again',
      ),
  });
  return { entities, runner };
}

export function measureWorkflowCommands({ database, registry }: Platform, createReading: Readings): void {
  const read = createReading({ commands: () => store.waiting(database) });
  registerWorkflowCommandMetrics({ registry, read: () => read('commands') });
}
