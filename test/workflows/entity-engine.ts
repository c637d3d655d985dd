// The workflows of one kind of entity wired for real: Postgres, Temporal, the runner of commands and a worker, each of
// which a test starts and stops itself.
import type { Activities } from '../../activities/index.ts';
import type { Database } from '../../src/platform/database/database.ts';
import { createEntityStarter, type EntityStarter } from '../../src/platform/temporal/entity.client.ts';
import { type EntityWorkflow, entityWorkflowId, type TaskQueues } from '../../src/platform/temporal/names.ts';
import {
  createWorkflowCommandRunner,
  type Describe,
} from '../../src/platform/temporal/workflow-command.client.ts';
import { createTestDatabase } from '../setup/database.ts';
import { eventually } from './delivery-engine.ts';
import { connectTestWorkers } from './test-workers.ts';
import { installVirtualClock, VIRTUAL_TIME } from './virtual-clock.ts';

/**
 * @param options.virtual gives the database a clock that a test can advance
 * @param options.wire makes the services over the database
 * @param options.activities of the worker
 * @param options.describe an entity for operators, as the runner of commands needs it
 */
export async function createEntityEngine<Services>({
  workflow,
  virtual,
  wire,
  activities,
  describe,
}: {
  workflow: EntityWorkflow;
  virtual: boolean;
  wire: (database: Database) => Services | Promise<Services>;
  activities: (services: Services) => Partial<Activities>;
  describe: (services: Services, taskQueues: TaskQueues) => Describe;
}) {
  const { database, url, drop } = await createTestDatabase(virtual ? VIRTUAL_TIME : undefined);
  if (virtual) await installVirtualClock(url);
  const services = await wire(database);
  const workers = await connectTestWorkers();
  const { client, taskQueues } = workers;
  const failures: unknown[] = [];
  const starter = createEntityStarter({ client, taskQueue: taskQueues.main });
  const handleOf = (id: string) => client.workflow.getHandle(entityWorkflowId(workflow, id));

  return {
    services,
    database,
    client,
    failures,
    starter,
    workflow: handleOf,

    /** @returns how to stop it */
    startRunner: (tell: EntityStarter['tell'] = starter.tell) => {
      const runner = createWorkflowCommandRunner({
        database,
        starter: { tell },
        describe: { [workflow]: describe(services, taskQueues) },
        onFailure: (error) => failures.push(error),
        poll: 50,
      });
      return workers.stoppable(runner.start().stop);
    },

    /** @returns how to stop it */
    startWorker: () => workers.startWorker(activities(services)),

    stateOf: <State>(id: string) => handleOf(id).query<State>('state'),

    /** Waits until the workflow has a state that is wanted. @returns the state */
    stands: <State>(id: string, isWanted: (state: State) => boolean, what: string) =>
      eventually(async () => {
        const state = await handleOf(id)
          .query<State>('state')
          .catch(() => undefined);
        return state !== undefined && isWanted(state) && state;
      }, what),

    /** The latest run of the entity's workflow. */
    runOf: async (id: string) => (await handleOf(id).describe()).runId,

    /** Waits until no command is left. */
    toldAll: () =>
      eventually(async () => {
        const { rows } = await database.query('SELECT 1 FROM workflow_commands');
        return rows.length === 0;
      }, 'all commands to be handed over'),

    close: async () => {
      await workers.close();
      await drop();
    },
  };
}
