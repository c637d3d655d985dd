// The metric of a worker: commands that wait for their hand-over.
import { createGauges } from '../metrics/gauges.ts';
import { ENTITY_WORKFLOW_TYPES } from './names.ts';
import type { WaitingCommands } from './workflow-command.store.ts';

/** @param options.read returns undefined while the database does not answer; the gauge is then absent */
export function registerWorkflowCommandMetrics(
  options: Parameters<typeof createGauges<readonly WaitingCommands[]>>[0],
): void {
  createGauges(options)(
    {
      name: 'countersign_workflow_commands',
      help: 'Changes that the workflow of an entity has not been told yet, by workflow.',
      labelNames: ['workflow'],
    },
    (waiting) =>
      ENTITY_WORKFLOW_TYPES.map((workflow) => [
        { workflow },
        waiting.find((row) => row.workflow === workflow)?.count ?? 0,
      ]),
  );
}
