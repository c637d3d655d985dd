// Checks the schema, the namespace, the schedules and the polling workers. All other checks depend on them.
import type { TaskQueues } from '../../platform/temporal/names.ts';
import { neededPolls } from '../../platform/temporal/poller.client.ts';
import type { WorkflowInspector } from '../../platform/temporal/workflow-inspection.client.ts';
import type { Check, Reporter } from './finding.ts';

/** `retentionDays` is null when the Temporal namespace does not exist. */
export type NamespaceState = { readonly retentionDays: number | null; readonly attributes: boolean };

/**
 * @param options.pendingMigrations names of the migrations that the database lacks
 * @param options.readCurrentBuild returns the build of the workers that receive work; null: workers without a build id
 * @param options.ensureSchedules creates missing schedules
 * @param options.ensureNamespace creates a missing namespace
 */
export function createFoundationCheck({
  pendingMigrations,
  readNamespace,
  ensureNamespace,
  findSchedule,
  ensureSchedules,
  inspector,
  readCurrentBuild,
  taskQueues,
  keptDays,
}: {
  pendingMigrations: () => Promise<readonly string[]>;
  readNamespace: () => Promise<NamespaceState>;
  ensureNamespace: () => Promise<'ok' | 'degraded'>;
  findSchedule: () => Promise<'running' | 'paused' | 'missing'>;
  ensureSchedules: () => Promise<unknown>;
  inspector: Pick<WorkflowInspector, 'listPollingBuilds'>;
  readCurrentBuild: () => Promise<string | null>;
  taskQueues: TaskQueues;
  keptDays: number;
}): Check {
  async function checkNamespace({ found }: Reporter): Promise<void> {
    const { retentionDays, attributes } = await readNamespace();
    const mend = async () => ((await ensureNamespace()) === 'ok' ? ('mended' as const) : ('asked' as const));
    const subject = 'namespace';
    if (retentionDays === null) {
      await found({ code: 'namespace_missing', subject, detail: 'Temporal does not know it' }, mend);
      return;
    }
    if (retentionDays < keptDays) {
      const detail = `closed workflows are kept ${retentionDays} days, deliveries ${keptDays}`;
      await found({ code: 'namespace_retention', subject, detail }, mend);
    }
    if (!attributes) {
      const detail = 'search attributes are missing: workflows cannot be searched for';
      await found({ code: 'search_attributes_missing', subject, detail }, mend);
    }
  }

  async function checkSchedule({ found }: Reporter): Promise<void> {
    const state = await findSchedule();
    const subject = 'schedule retention';
    if (state === 'missing')
      await found({ code: 'schedule_missing', subject, detail: 'nothing old is removed' }, async () => {
        await ensureSchedules();
        return (await findSchedule()) === 'running' ? 'mended' : 'asked';
      });
    if (state === 'paused')
      await found({
        code: 'schedule_paused',
        subject,
        detail: 'somebody has paused it: nothing old is removed until it is unpaused',
      });
  }

  async function checkPollers({ found, looked }: Reporter): Promise<void> {
    const current = (await readCurrentBuild()) ?? '';
    for (const [queue, kind] of neededPolls(taskQueues)) {
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
      const pending = await pendingMigrations();
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
