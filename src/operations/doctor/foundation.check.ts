// Checks the schema, the namespace, the schedules and the polling workers. All other checks depend on them.
import type { Client, Connection } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { KEPT_DAYS } from '../../platform/database/kept-days.ts';
import { pendingMigrations } from '../../platform/database/migrate.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import { TASK_QUEUES } from '../../platform/temporal/names.ts';
import { ensureNamespace, readNamespace } from '../../platform/temporal/namespace.ts';
import { ensureSchedules, findSchedule } from '../../platform/temporal/schedules.ts';
import { readCurrentBuild } from '../../platform/temporal/worker-version.ts';
import type { WorkflowInspector } from '../../platform/temporal/workflow-inspection.client.ts';
import type { Check, Reporter } from './finding.ts';

/** The tasks that workers must ask for. */
const POLLS = [
  [TASK_QUEUES.main, 'workflow'],
  [TASK_QUEUES.main, 'activity'],
  [TASK_QUEUES.attempts, 'activity'],
  [TASK_QUEUES.slow, 'activity'],
] as const;

export function createFoundationCheck({
  database,
  connection,
  client,
  inspector,
  namespace,
}: {
  database: Queryable;
  connection: Connection | NativeConnection;
  client: Pick<Client, 'schedule' | 'withDeadline'>;
  inspector: Pick<WorkflowInspector, 'listPollingBuilds'>;
  namespace: string;
}): Check {
  async function checkNamespace({ found }: Reporter): Promise<void> {
    const { retentionDays, attributes } = await readNamespace(connection, { namespace });
    const mend = async () =>
      (await ensureNamespace(connection, { namespace })) === 'ok' ? ('mended' as const) : ('asked' as const);
    const subject = 'namespace';
    if (retentionDays === null) {
      await found({ code: 'namespace_missing', subject, detail: 'Temporal does not know it' }, mend);
      return;
    }
    if (retentionDays < KEPT_DAYS) {
      const detail = `closed workflows are kept ${retentionDays} days, deliveries ${KEPT_DAYS}`;
      await found({ code: 'namespace_retention', subject, detail }, mend);
    }
    if (!attributes) {
      const detail = 'search attributes are missing: workflows cannot be searched for';
      await found({ code: 'search_attributes_missing', subject, detail }, mend);
    }
  }

  async function checkSchedule({ found }: Reporter): Promise<void> {
    const state = await findSchedule(client);
    const subject = 'schedule retention';
    if (state === 'missing')
      await found({ code: 'schedule_missing', subject, detail: 'nothing old is removed' }, async () => {
        await ensureSchedules(client);
        return (await findSchedule(client)) === 'running' ? 'mended' : 'asked';
      });
    if (state === 'paused')
      await found({
        code: 'schedule_paused',
        subject,
        detail: 'somebody has paused it: nothing old is removed until it is unpaused',
      });
  }

  async function checkPollers({ found, looked }: Reporter): Promise<void> {
    const current = (await readCurrentBuild({ connection, namespace })) ?? '';
    for (const [queue, kind] of POLLS) {
      looked(1);
      const builds = await inspector.listPollingBuilds(queue, kind);
      if (builds.has(current)) continue;
      const subject = `task queue ${queue}`;
      if (builds.size === 0) {
        const detail = `no worker has asked it for ${kind} tasks within the last minute`;
        await found({ code: 'no_worker', subject, detail });
        continue;
      }
      const seen = [...builds].map(nameBuild).sort().join(', ');
      const detail = `its ${kind} tasks go to ${nameBuild(current)}, and who asks for them are ${seen}`;
      await found({ code: 'version_not_current', subject, detail });
    }
  }

  return {
    name: 'foundation',
    title: 'the schema, the namespace, the schedule and the workers',
    examine: async (reporter) => {
      const pending = await pendingMigrations(database);
      reporter.looked(3);
      if (pending.length > 0)
        await reporter.found({
          code: 'migration_pending',
          subject: 'database',
          detail: `${pending.join(', ')} did not run: countersign migrate`,
        });
      await checkNamespace(reporter);
      await checkSchedule(reporter);
      await checkPollers(reporter);
    },
  };
}

const nameBuild = (buildId: string): string =>
  buildId === '' ? 'workers without a build id' : `the build ${buildId}`;
