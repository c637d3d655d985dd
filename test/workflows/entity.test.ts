// The loop that all entity workflows share, in each of them: with the answers of committed histories, changed where a
// test needs it.
import { readdirSync, readFileSync } from 'node:fs';
import { temporal } from '@temporalio/proto';
import { afterAll, describe, expect, it } from 'vitest';
import { ENTITY_CHANGED, ENTITY_WORKFLOW_TYPES, WORKFLOW_TYPES } from '../../src/platform/temporal/names.ts';
import { parseHistory } from '../replay/history-file.ts';
import { type Answer, type RecordedWorkflows, startRecordedWorkflows } from '../replay/recorded-workflows.ts';
import { eventually } from './delivery-engine.ts';

type Standing = { step: string | { kind: string } };
type Run = Awaited<ReturnType<RecordedWorkflows['start']>>['run'];

const FOLDER = new URL('../replay/histories/', import.meta.url);
const { EventType } = temporal.api.enums.v1;

let answer: Answer;
const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
const histories = files.map((file) => parseHistory(readFileSync(new URL(file, FOLDER), 'utf8')));
const workflows = await startRecordedWorkflows(histories, (...args) => answer(...args));
afterAll(() => workflows.close());

const isStanding = (value: unknown): value is Standing =>
  typeof value === 'object' && value !== null && 'step' in value;

const withDelay =
  (delayMs: number): Answer =>
  (recorded) => {
    if (!isStanding(recorded) || typeof recorded.step === 'string') return recorded;
    return { ...recorded, step: { ...recorded.step, ...('delayMs' in recorded.step && { delayMs }) } };
  };

async function eventsOf(run: Run): Promise<string[]> {
  const { events } = await run.fetchHistory();
  return (events ?? []).map(({ eventType }) => EventType[Number(eventType)] ?? '');
}

async function detailsOf(run: Pick<Run, 'query'>): Promise<string> {
  const { currentDetails = '' } = await run.query<{ currentDetails?: string }>(
    '__temporal_workflow_metadata',
  );
  return currentDetails;
}

it('are all workflow types but those whose cancellation is tested with the rest of them', () => {
  const others = ['webhookDelivery', 'retention', 'challengeExpiry'];
  expect(WORKFLOW_TYPES.filter((type) => !ENTITY_WORKFLOW_TYPES.some((one) => one === type))).toEqual(others);
});

describe.each(ENTITY_WORKFLOW_TYPES)('%s', (type) => {
  it('shows its summary before the details once its history is begun anew', async () => {
    answer = (recorded) => recorded;
    const { workflowId, summary, firstRunId } = await workflows.start(type);
    const next = await workflows.untilBegunAnew(workflowId, firstRunId, ENTITY_CHANGED);
    const details = await eventually(async () => (await detailsOf(next)) || undefined, 'its details');
    expect(summary).not.toBe('');
    expect(details.slice(0, summary.length + 2)).toBe(`${summary}: `);
    await workflows.client.workflow.getHandle(workflowId).terminate();
  });

  it('waits by a timer also when nothing is left to wait for', async () => {
    answer = withDelay(0);
    const { workflowId, run } = await workflows.start(type);
    const events = await eventually(async () => {
      const names = await eventsOf(run);
      return names.includes('EVENT_TYPE_TIMER_FIRED') && names;
    }, 'a timer');
    expect(events).not.toContain('EVENT_TYPE_MARKER_RECORDED');
    await workflows.client.workflow.getHandle(workflowId).terminate();
  });

  it('goes on when Temporal is asked to cancel it, and says so', async () => {
    answer = withDelay(3_600_000);
    const { workflowId, firstRunId, run } = await workflows.start(type);
    await eventually(async () => (await eventsOf(run)).includes('EVENT_TYPE_TIMER_STARTED'), 'its wait');
    await run.cancel();
    await eventually(
      async () => (await detailsOf(run)).startsWith('Cancellation was requested'),
      'the cancellation in its details',
    );
    const length = (await eventsOf(run)).length;
    await workflows.untilBegunAnew(workflowId, firstRunId, ENTITY_CHANGED);
    expect((await eventsOf(run)).length).toBeGreaterThan(length);
    expect(await detailsOf(run)).toMatch(/^Cancellation was requested/);
    await workflows.client.workflow.getHandle(workflowId).terminate();
  });

  it('reads once more when a signal comes during the last reading', async () => {
    const readings = new Map<string, number>();
    answer = async (recorded, workflowId) => {
      const count = (readings.get(workflowId) ?? 0) + 1;
      readings.set(workflowId, count);
      if (count === 1) await workflows.client.workflow.getHandle(workflowId).signal(ENTITY_CHANGED);
      if (!isStanding(recorded)) return recorded;
      return { ...recorded, step: typeof recorded.step === 'string' ? 'end' : { kind: 'end' } };
    };
    const { workflowId, run } = await workflows.start(type);
    await run.result();
    expect(readings.get(workflowId)).toBe(2);
  });

  it('shows how it stands as search attributes, and changes none of them in its last task', async () => {
    const readings = new Map<string, number>();
    answer = (recorded, workflowId) => {
      const count = (readings.get(workflowId) ?? 0) + 1;
      readings.set(workflowId, count);
      if (!isStanding(recorded)) return recorded;
      const step = typeof recorded.step === 'string' ? 'end' : { kind: 'end' };
      // Its state changes with the end.
      const over = { status: 'over', state: 'over', secrets: 'over', key: 'over' };
      return count < 3 ? withDelay(1)(recorded, workflowId) : { ...recorded, ...over, step };
    };
    const { run } = await workflows.start(type);
    await run.result();
    const { events } = await run.fetchHistory();
    const last = events?.at(-1)?.workflowExecutionCompletedEventAttributes?.workflowTaskCompletedEventId;
    const tasks = (events ?? []).flatMap(
      (event) => event.upsertWorkflowSearchAttributesEventAttributes?.workflowTaskCompletedEventId ?? [],
    );
    expect(tasks.map(Number)).not.toEqual([]);
    expect(tasks.map(Number)).not.toContain(Number(last));
  });
});
