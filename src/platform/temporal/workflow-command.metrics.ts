// Metrics of a worker: commands that wait for their hand-over, and entities whose workflow is late.
import type { Registry } from 'prom-client';
import { createGauges } from '../metrics/gauges.ts';
import { ENTITY_WORKFLOW_TYPES, type EntityWorkflow } from './names.ts';
import type { WaitingCommands } from './workflow-command.store.ts';

/** The number of late entities, by the type of the workflow that should have acted. */
type OverdueEntities = Readonly<Record<string, number>>;

/**
 * @param options.read, options.readOverdue return undefined while the database does not answer; the gauges are then
 *   absent
 */
export function registerWorkflowCommandMetrics({
  registry,
  read,
  readOverdue,
}: {
  registry: Registry;
  read: () => Promise<readonly WaitingCommands[] | undefined>;
  readOverdue: () => Promise<OverdueEntities | undefined>;
}): void {
  const define = createGauges({ registry, read });
  const labelNames = ['workflow'];
  const of = (waiting: readonly WaitingCommands[], workflow: EntityWorkflow) =>
    waiting.find((row) => row.workflow === workflow);
  define(
    {
      name: 'countersign_workflow_commands',
      help: 'Changes that the workflow of an entity has not been told yet, by workflow.',
      labelNames,
    },
    (waiting) => ENTITY_WORKFLOW_TYPES.map((workflow) => [{ workflow }, of(waiting, workflow)?.count ?? 0]),
  );
  define(
    {
      name: 'countersign_workflow_command_age_seconds',
      help: 'Age of the oldest of these changes; 0 when there is none.',
      labelNames,
    },
    (waiting) => ENTITY_WORKFLOW_TYPES.map((workflow) => [{ workflow }, of(waiting, workflow)?.seconds ?? 0]),
  );
  createGauges({ registry, read: readOverdue })(
    {
      name: 'countersign_entities_overdue',
      help: 'Entities for which a workflow should have done something 5 minutes ago and has not, by workflow.',
      labelNames,
    },
    (overdue) => Object.entries(overdue).map(([workflow, count]) => [{ workflow }, count]),
  );
}
