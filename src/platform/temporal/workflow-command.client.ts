// Hands commands over to Temporal, in each worker process. A row is deleted only after Temporal has acknowledged the
// command. After a crash the command is handed over again, which does no harm.
import type { Database } from '../database/database.ts';
import { createLoop, type RunningLoop } from '../process/loop.ts';
import type { EntityRequest, EntityStarter } from './entity.client.ts';
import type { EntityWorkflow } from './names.ts';
import type { ClaimedCommand } from './workflow-command.store.ts';
import * as store from './workflow-command.store.ts';

/** Times in milliseconds. The lease is longer than all calls of one run can take. */
const SETTINGS = { limit: 64, atOnce: 16, poll: 500, lease: 60_000, longestPause: 15_000 } as const;

/** Reads the summary of an entity for operators; undefined for an entity that no longer exists. */
export type Describe = (entity: {
  tenantId: string;
  id: string;
}) => Promise<Omit<EntityRequest, 'tenantId' | 'workflow' | 'entityId'> | undefined>;

/**
 * @param options.describe by workflow type
 * @param options.onFailure receives each failure of Temporal or the database; the runner continues
 */
export function createWorkflowCommandRunner({
  database,
  starter,
  describe,
  onFailure,
  poll = SETTINGS.poll,
}: {
  database: Pick<Database, 'query'>;

  starter: Pick<EntityStarter, 'tell'>;
  describe: Readonly<Partial<Record<EntityWorkflow, Describe>>>;
  onFailure: (error: unknown) => void;
  poll?: number | undefined;
}) {
  /** Several commands for one workflow become one call. */
  const handOver = async (commands: readonly ClaimedCommand[]): Promise<boolean> => {
    const [first] = commands;
    if (first === undefined) return true;
    const { tenantId, workflow, entityId } = first;
    try {
      const shown = await describe[workflow]?.({ tenantId, id: entityId });
      await starter.tell({ tenantId, workflow, entityId, ...shown });
      return true;
    } catch (error) {
      onFailure(error);
      return false;
    }
  };

  const run = async (): Promise<number> => {
    const { limit, lease, atOnce, longestPause } = SETTINGS;
    const claimed = await store.claim(database, { limit, lease });
    const groups = groupByEntity(claimed);
    for (let start = 0; start < groups.length; start += atOnce) {
      const part = groups.slice(start, start + atOnce);
      const outcomes = await Promise.all(part.map(handOver));
      const idsOf = (outcome: boolean) =>
        part.flatMap((group, index) => (outcomes[index] === outcome ? group.map(({ id }) => id) : []));
      const [done, failed] = [idsOf(true), idsOf(false)];
      if (done.length > 0) await store.remove(database, done);
      if (failed.length > 0) await store.postpone(database, failed, longestPause);
    }
    return claimed.length;
  };

  return {
    run,

    start: (): RunningLoop =>
      createLoop({ run, next: (claimed = 0) => (claimed < SETTINGS.limit ? poll : 0), onFailure }).start(),
  };
}

function groupByEntity(commands: readonly ClaimedCommand[]): ClaimedCommand[][] {
  const groups = new Map<string, ClaimedCommand[]>();
  for (const command of commands) {
    const name = `${command.workflow} ${command.entityId}`;
    groups.set(name, [...(groups.get(name) ?? []), command]);
  }
  return [...groups.values()];
}
