// Workflows that run on a real Temporal server with the answers that the committed histories hold instead of the
// service's activities. The server asks for a new history after some 30 events, so that each of them begins its history
// anew within seconds.
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Context } from '@temporalio/activity';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { createKeeper } from '../../src/app/local/keeper.ts';
import { startTemporal } from '../../src/app/local/temporal.ts';
import {
  ENTITY_WORKFLOW_TYPES,
  SEARCH_ATTRIBUTES,
  type TaskQueues,
} from '../../src/platform/temporal/names.ts';
import { takePort } from '../setup/ports.ts';
import { obtainTestTemporal } from '../setup/temporal-program.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import { connectTestWorkers } from '../workflows/test-workers.ts';
import type { History } from './history-file.ts';

const NAMESPACE = 'recorded';
/** Events. */
const LONG_HISTORY = 30;

export type RecordedWorkflows = Awaited<ReturnType<typeof startRecordedWorkflows>>;

/** What an activity answers: a recorded answer, or a change of it. */
export type Answer = (recorded: unknown, workflowId: string) => unknown;

/**
 * @param histories of every type of workflow that is started
 * @param answer comes between the recorded answers and the workflows
 */
export async function startRecordedWorkflows(
  histories: readonly History[],
  answer: Answer = (recorded) => recorded,
) {
  const dataDir = await mkdtemp(join(tmpdir(), 'countersign-recorded-'));
  const keeper = createKeeper({ file: join(dataDir, 'parts.json'), remove: [dataDir] });
  const server = await startTemporal({
    program: await obtainTestTemporal(),
    dataDir,
    port: await takePort(),
    uiPort: null,
    namespace: NAMESPACE,
    inMemory: true,
    keeper,
    dynamicConfig: [`limit.historyCount.suggestContinueAsNew=${LONG_HISTORY}`],
  });
  const workers = await connectTestWorkers({ address: server.address, namespace: NAMESPACE });
  const { client, taskQueues } = workers;
  const startWorker = () => workers.startWorker(recordedActivities(histories, answer));
  await startWorker();

  return {
    client,

    startWorker,
    stopWorker: workers.stopAll,

    /** Starts a workflow as it was started in its first history. @returns its first run, and its static summary */
    start: async (type: string) => {
      const { input, summary, tenantId } = beginningOf(histories, type, taskQueues);
      const workflowId = `${type}/${randomUUID()}`;
      const { firstExecutionRunId } = await client.workflow.start(type, {
        workflowId,
        taskQueue: taskQueues.main,
        args: input,
        staticSummary: summary,
        ...(tenantId === undefined
          ? {}
          : { typedSearchAttributes: [{ key: SEARCH_ATTRIBUTES.tenantId, value: tenantId }] }),
      });
      const run = client.workflow.getHandle(workflowId, firstExecutionRunId);
      return { workflowId, summary, run, firstRunId: firstExecutionRunId };
    },

    /** Signals a workflow until it has begun its history anew. @returns the run of that history */
    untilBegunAnew: (workflowId: string, firstRunId: string, signal: string | undefined) =>
      eventually(async () => {
        const latest = client.workflow.getHandle(workflowId);
        const { runId, status } = await latest.describe();
        if (runId !== firstRunId) return client.workflow.getHandle(workflowId, runId);
        if (signal !== undefined && status.name === 'RUNNING')
          await latest.signal(signal).catch(() => undefined);
        return false;
      }, `${workflowId} to begin its history anew`),

    close: async () => {
      await workers.close();
      await server.stop();
      await keeper.close();
      await rm(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** How the first history of a type begins, but on the queues of this worker. */
function beginningOf(histories: readonly History[], type: string, { attempts, slow }: TaskQueues) {
  const first = histories
    .map(({ events }) => events?.[0])
    .find((event) => event?.workflowExecutionStartedEventAttributes?.workflowType?.name === type);
  const started = first?.workflowExecutionStartedEventAttributes;
  if (!first || !started) throw new Error(`no history of ${type}`);
  const summary = String(decode(first.userMetadata?.summary) ?? '');
  const indexed = started.searchAttributes?.indexedFields ?? {};
  return {
    summary,
    tenantId: decode(indexed[SEARCH_ATTRIBUTES.tenantId.name]) as string | undefined,
    input: (started.input?.payloads ?? []).map((payload) => {
      const recorded = decode(payload) as Record<string, unknown>;
      const isEntity = (ENTITY_WORKFLOW_TYPES as readonly string[]).includes(type);
      return {
        ...recorded,
        ...(isEntity ? { summary } : {}),
        ...('attemptsQueue' in recorded ? { attemptsQueue: attempts } : {}),
        ...('slowQueue' in recorded ? { slowQueue: slow } : {}),
      };
    }),
  };
}

/** Each activity answers as it once did: by preference so that it is called again. */
function recordedActivities(
  histories: readonly History[],
  answer: Answer,
): Record<string, () => Promise<unknown>> {
  const answers = new Map<string, unknown[]>();
  const add = (name: string | undefined, payload: Payload | null | undefined) => {
    if (name) answers.set(name, [...(answers.get(name) ?? []), decode(payload)]);
  };
  for (const { events } of histories) {
    const names = new Map<string, string>();
    for (const event of events ?? []) {
      const scheduled = event.activityTaskScheduledEventAttributes?.activityType?.name;
      if (scheduled) names.set(String(event.eventId), scheduled);
      const completed = event.activityTaskCompletedEventAttributes;
      if (completed) add(names.get(String(completed.scheduledEventId)), completed.result?.payloads?.[0]);
      // A local activity, which runs in the workflow task.
      const local = event.markerRecordedEventAttributes?.details;
      const called = decode(local?.data?.payloads?.[0]) as { activity_type?: string } | undefined;
      add(called?.activity_type, local?.result?.payloads?.[0]);
    }
  }
  return Object.fromEntries(
    [...answers].map(([name, values]) => [
      name,
      async () =>
        answer(
          values.find(isUnfinished) ?? values[0],
          Context.current().info.workflowExecution?.workflowId ?? '',
        ),
    ]),
  );
}

function isUnfinished(answer: unknown): boolean {
  if (typeof answer !== 'object' || answer === null) return false;
  const { more, step } = answer as { more?: boolean; step?: { kind?: string } };
  return more === true || step?.kind === 'wait';
}

function decode(payload: Payload | null | undefined): unknown {
  return payload ? defaultPayloadConverter.fromPayload(payload) : undefined;
}
