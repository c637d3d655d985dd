// Starts the workflows of the current and the next bucket, in each worker process. Requests do not depend on it. Past
// buckets get no workflow, because the next bucket marks their challenges.
import { type Client, WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import { createLoop, type RunningLoop } from '../../platform/process/loop.ts';
import { abandonOn } from '../../platform/temporal/abandon.ts';
import { createIndexing } from '../../platform/temporal/indexing.ts';
import {
  CHALLENGE_EXPIRY_WORKFLOW,
  challengeExpiryWorkflowId,
  SEARCH_ATTRIBUTES,
  TASK_QUEUES,
} from '../../platform/temporal/names.ts';
import type { ExpiryService } from './challenge-expiry.service.ts';
import { BUCKET_LENGTH, type Bucket, bucketsAt, type ExpiryInput } from './challenge-expiry.ts';

/** Milliseconds: `call` is the longest call to Temporal, `failed` the wait after a failure. */
const PATIENCE = { call: 10_000, failed: 5_000 } as const;

/**
 * @param options.bucketLength milliseconds; whole seconds that divide a day
 * @param options.onFailure receives each failure, after which the call is repeated
 */
export function createExpiryKeeper({
  client,
  expiry,
  taskQueue = TASK_QUEUES.main,
  bucketLength = BUCKET_LENGTH,
  onFailure,
}: {
  client: Pick<Client, 'workflow' | 'withDeadline'>;
  expiry: Pick<ExpiryService, 'readClock'>;
  taskQueue?: string | undefined;
  bucketLength?: number | undefined;
  onFailure: (error: unknown) => void;
}) {
  const indexing = createIndexing();
  let known: readonly string[] = [];

  const start = async ({ name, endsAt }: Bucket, indexed: boolean): Promise<boolean> => {
    const input: ExpiryInput = { name, endsAt, indexed };
    try {
      await client.withDeadline(Date.now() + PATIENCE.call, () =>
        client.workflow.start(CHALLENGE_EXPIRY_WORKFLOW, {
          workflowId: challengeExpiryWorkflowId(name),
          taskQueue,
          args: [input],
          // A workflow that has ended is not started again, even if an operator ended it.
          workflowIdReusePolicy: 'REJECT_DUPLICATE',
          staticSummary: `challenges that expired by ${endsAt.slice(11, 19)} UTC`,
          ...(indexed
            ? { typedSearchAttributes: [{ key: SEARCH_ATTRIBUTES.entityState, value: 'waiting' }] }
            : {}),
        }),
      );
      return true;
    } catch (error) {
      if (error instanceof WorkflowExecutionAlreadyStartedError) return false;
      throw error;
    }
  };

  /**
   * Starts the missing workflows. Several processes may do this concurrently.
   * @returns names of the buckets whose workflows this call started
   * @throws when the database or Temporal does not answer
   */
  const look = async (): Promise<string[]> => {
    const buckets = bucketsAt((await expiry.readClock()).getTime(), bucketLength);
    const started: string[] = [];
    for (const bucket of buckets) {
      if (known.includes(bucket.name)) continue;
      if (await indexing.attempt((indexed) => start(bucket, indexed))) started.push(bucket.name);
      known = [...known.slice(-1), bucket.name];
    }
    return started;
  };

  return {
    look,

    /**
     * Starts the workflow of one bucket. @returns false when it was already started @throws when Temporal does not
     * answer
     */
    begin: (bucket: Bucket): Promise<boolean> => indexing.attempt((indexed) => start(bucket, indexed)),

    /** Starts missing workflows three times in each bucket. `stop` does not wait for calls to Temporal. */
    start: (): RunningLoop => {
      const usual = bucketLength / 3;
      return createLoop({
        run: (signal) => abandonOn(signal, look()),
        next: (started) => (started === undefined ? Math.min(PATIENCE.failed, usual) : usual),
        onFailure,
      }).start();
    },
  };
}
