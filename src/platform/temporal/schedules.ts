// Creates the service's schedules in Temporal, and updates the times and actions of existing ones. A paused schedule
// stays paused.
import {
  type Client,
  ScheduleAlreadyRunning,
  ScheduleNotFoundError,
  ScheduleOverlapPolicy,
} from '@temporalio/client';
import { createLoop, type RunningLoop } from '../process/loop.ts';
import { abandonOn } from './abandon.ts';
import { RETENTION_SCHEDULE, RETENTION_WORKFLOW, TASK_QUEUES } from './names.ts';

const EVERY = 15;

/** Milliseconds for one check, until the next check, and until the next check after a failure. */
const PATIENCE = { call: 20_000, usual: 3_600_000, failed: 30_000 } as const;

/**
 * Creates the schedule of retention, or updates its times and action; a paused schedule stays paused. Several processes
 * may call it concurrently.
 * @returns the change that the call has made
 * @throws when Temporal does not answer
 */
export function ensureSchedules(
  client: Pick<Client, 'schedule' | 'withDeadline'>,
  { taskQueue = TASK_QUEUES.main }: { taskQueue?: string | undefined } = {},
): Promise<'made' | 'changed' | 'unchanged'> {
  return client.withDeadline(Date.now() + PATIENCE.call, () => ensureRetention(client, taskQueue));
}

/** @throws when Temporal does not answer */
export async function findSchedule(
  client: Pick<Client, 'schedule' | 'withDeadline'>,
): Promise<'running' | 'paused' | 'missing'> {
  try {
    const { state } = await client.withDeadline(Date.now() + PATIENCE.call, () =>
      client.schedule.getHandle(RETENTION_SCHEDULE).describe(),
    );
    return state.paused ? 'paused' : 'running';
  } catch (error) {
    if (error instanceof ScheduleNotFoundError) return 'missing';
    throw error;
  }
}

/**
 * Checks the schedules at the start of a worker and then each hour. `stop` does not wait for a running check.
 * @param options.onFailure receives each failure; the check is repeated
 */
export function keepSchedules({
  client,
  onFailure,
}: {
  client: Pick<Client, 'schedule' | 'withDeadline'>;
  onFailure: (error: unknown) => void;
}): RunningLoop {
  return createLoop({
    run: (signal) => abandonOn(signal, ensureSchedules(client)),
    next: (done) => (done === undefined ? PATIENCE.failed : PATIENCE.usual),
    onFailure,
  }).start();
}

async function ensureRetention(
  client: Pick<Client, 'schedule'>,
  taskQueue: string,
): Promise<'made' | 'changed' | 'unchanged'> {
  const wanted = {
    spec: { intervals: [{ every: `${EVERY}m` as const }] },
    action: {
      type: 'startWorkflow' as const,
      workflowType: RETENTION_WORKFLOW,
      workflowId: RETENTION_SCHEDULE,
      taskQueue,
      args: [],
      staticSummary: 'removes what is older than it is kept',
      workflowRunTimeout: '6h' as const,
    },
    // The next run is skipped while one is under way. After an outage one run does the work of all missed runs.
    policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: `${EVERY}m` as const },
  };
  try {
    await client.schedule.create({
      scheduleId: RETENTION_SCHEDULE,
      ...wanted,
      state: { triggerImmediately: true },
    });
    return 'made';
  } catch (error) {
    if (!(error instanceof ScheduleAlreadyRunning)) throw error;
  }
  const handle = client.schedule.getHandle(RETENTION_SCHEDULE);
  const { spec, action } = await handle.describe();
  const isSame =
    spec.intervals?.length === 1 &&
    spec.intervals[0]?.every === EVERY * 60_000 &&
    action.workflowType === RETENTION_WORKFLOW &&
    action.taskQueue === taskQueue;
  if (isSame) return 'unchanged';
  await handle.update((previous) => ({ ...previous, ...wanted, state: previous.state }));
  return 'changed';
}
