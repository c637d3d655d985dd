// Every committed history: today's workflows must be able to go on from it, it is never edited, and it shows all that
// an operator is to see of each workflow. Histories of earlier versions stay: a workflow that such a version began may
// still run.
import { createHash } from 'node:crypto';
import { appendFileSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { Worker } from '@temporalio/worker';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createActivities } from '../../activities/index.ts';
import { DELIVERY_SIGNALS, ENTITY_CHANGED, SEARCH_ATTRIBUTES } from '../../src/platform/temporal/names.ts';
import { workflowBundle } from '../setup/workflow-bundle.ts';
import { eventually, installRuntimeOnce } from '../workflows/delivery-engine.ts';
import { parseHistory, writeHistory } from './history-file.ts';
import { type RecordedWorkflows, startRecordedWorkflows } from './recorded-workflows.ts';

const FOLDER = new URL('./histories/', import.meta.url);
const SUMS = new URL('SHA256SUMS', FOLDER);

/** The part of a history that these tests read, as it is written. */
type HistoryEvent = {
  eventType: string;
  userMetadata?: { summary?: unknown };
  workflowExecutionStartedEventAttributes?: {
    workflowType: { name: string };
    searchAttributes?: { indexedFields: Record<string, unknown> };
  };
  workflowExecutionCompletedEventAttributes?: { workflowTaskCompletedEventId: string };
  upsertWorkflowSearchAttributesEventAttributes?: {
    workflowTaskCompletedEventId: string;
    searchAttributes: { indexedFields: Record<string, unknown> };
  };
  activityTaskScheduledEventAttributes?: { activityType: { name: string } };
};

/** The answer to the query that every workflow answers by itself. */
type Metadata = { currentDetails?: string };

const files = readdirSync(FOLDER).filter((file) => file.endsWith('.json'));
const texts = new Map(files.map((file) => [file, readFileSync(new URL(file, FOLDER), 'utf8')]));
const histories = files.map((file) => {
  const { events } = JSON.parse(texts.get(file) ?? '') as { events: HistoryEvent[] };
  return { file, events, type: events[0]?.workflowExecutionStartedEventAttributes?.workflowType.name ?? '' };
});
const types = [...new Set(histories.map(({ type }) => type))];

/** Of no tenant: they work for all of them, and receive no signal. */
const OF_ALL = ['retention', 'challengeExpiry'];
const signalOf = (type: string) => (type === 'webhookDelivery' ? DELIVERY_SIGNALS.retryNow : ENTITY_CHANGED);
const fileNameOf = (type: string) => type.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

const named = (events: readonly HistoryEvent[], type: string) =>
  events.filter(({ eventType }) => eventType === `EVENT_TYPE_${type}`);
const hasSummary = ({ userMetadata }: HistoryEvent) => userMetadata?.summary !== undefined;

describe('every committed history', () => {
  it('is replayed by the workflows of today', async () => {
    installRuntimeOnce();
    const options = { workflowBundle: await workflowBundle(), reuseV8Context: true };
    const replayed: string[] = [];
    const failed: unknown[] = [];
    const all = [...texts].map(([file, text]) => ({ workflowId: file, history: parseHistory(text) }));
    for await (const { workflowId, error } of Worker.runReplayHistories(options, all)) {
      replayed.push(workflowId);
      if (error !== undefined) failed.push([workflowId, error.message]);
    }
    expect(failed).toEqual([]);
    expect(replayed.sort()).toEqual([...files].sort());
  });

  it.each(files)('%s is of the workflow that its name says', (file) => {
    const type = histories.find((history) => history.file === file)?.type ?? '';
    expect(types).toContain(type);
    expect(file.split('.')[0]).toBe(fileNameOf(type));
  });

  it('is as it was when it was committed', () => {
    const sums = new Map<string, string>();
    for (const line of readFileSync(SUMS, 'utf8').split('\n').filter(Boolean)) {
      const [sum = '', file = ''] = line.split('  ');
      sums.set(file, sum);
    }
    const today = new Map(
      [...texts].map(([file, text]) => [file, createHash('sha256').update(text).digest('hex')]),
    );
    const unlisted = [...today].filter(([file]) => !sums.has(file)).map(([file, sum]) => `${sum}  ${file}\n`);
    if (process.env.RECORD_HISTORIES === '1') appendFileSync(SUMS, unlisted.join(''));
    else
      expect(unlisted, 'new: RECORD_HISTORIES=1 npx vitest run test/replay/every-history.test.ts').toEqual(
        [],
      );
    for (const [file, sum] of sums)
      expect(today.get(file), `${file} was edited or removed: record another one instead`).toBe(sum);
  });
});

describe('every workflow type', () => {
  let workflows: RecordedWorkflows;
  beforeAll(async () => {
    workflows = await startRecordedWorkflows([...texts.values()].map(parseHistory));
  });
  afterAll(() => workflows?.close());

  it('is known to this test', async () => {
    expect(types.sort()).toEqual(Object.keys(await import('../../workflows/index.ts')).sort());
  });

  describe.each(types)('%s', (type) => {
    const own = histories.filter((history) => history.type === type);

    it('has a history, and each begins with a summary', () => {
      expect(own).not.toEqual([]);
      for (const { file, events } of own) expect(events.slice(0, 1).map(hasSummary), file).toEqual([true]);
    });

    it('names each timer and each activity', () => {
      for (const { file, events } of own)
        for (const timer of named(events, 'TIMER_STARTED')) expect(hasSummary(timer), file).toBe(true);
      const activities = new Map<string, boolean>();
      for (const event of own.flatMap(({ events }) => named(events, 'ACTIVITY_TASK_SCHEDULED'))) {
        const name = event.activityTaskScheduledEventAttributes?.activityType.name ?? '';
        // A history from before an activity had a summary stays; a later one shows it.
        activities.set(name, (activities.get(name) ?? false) || hasSummary(event));
      }
      expect([...activities].filter(([, summary]) => !summary)).toEqual([]);
    });

    it.skipIf(OF_ALL.includes(type))(
      'begins with its tenant, and shows how it stands as search attributes',
      () => {
        const known = Object.values(SEARCH_ATTRIBUTES).map(({ name }) => name as string);
        for (const { file, events } of own) {
          const begun =
            events[0]?.workflowExecutionStartedEventAttributes?.searchAttributes?.indexedFields ?? {};
          expect(known, file).toEqual(expect.arrayContaining(Object.keys(begun)));
          expect(Object.keys(begun), file).toContain(SEARCH_ATTRIBUTES.tenantId.name);
          const upserted = named(events, 'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES').flatMap((event) =>
            Object.keys(
              event.upsertWorkflowSearchAttributesEventAttributes?.searchAttributes.indexedFields ?? {},
            ),
          );
          // A delivery says since its start what its last attempt got.
          const shown = type === 'webhookDelivery' ? [...Object.keys(begun), ...upserted] : upserted;
          const states = [SEARCH_ATTRIBUTES.entityState.name, SEARCH_ATTRIBUTES.lastOutcome.name] as string[];
          // One that never waited is shown by its result alone.
          const waited = named(events, 'TIMER_STARTED').length > 0;
          expect(!waited || shown.some((name) => states.includes(name)), file).toBe(true);
        }
        expect(own.some(({ events }) => named(events, 'TIMER_STARTED').length > 0)).toBe(true);
      },
    );

    it('changes no search attribute in its last task, unless a view asks for it', () => {
      for (const { file, events } of own) {
        const last = events.at(-1)?.workflowExecutionCompletedEventAttributes?.workflowTaskCompletedEventId;
        const changed = named(events, 'UPSERT_WORKFLOW_SEARCH_ATTRIBUTES').flatMap(
          ({ upsertWorkflowSearchAttributesEventAttributes: upsert }) =>
            last !== undefined && upsert?.workflowTaskCompletedEventId === last
              ? [Object.keys(upsert.searchAttributes.indexedFields)]
              : [],
        );
        for (const names of changed) expect(names, file).toContain(SEARCH_ATTRIBUTES.deliveryStatus.name);
      }
    });

    it('says what it does, answers the query state, and begins its history anew', async () => {
      const { workflowId, run, firstRunId } = await workflows.start(type);
      const signal = OF_ALL.includes(type) ? undefined : signalOf(type);
      const next = await workflows.untilBegunAnew(workflowId, firstRunId, signal);
      for (const one of [run, next])
        await eventually(async () => {
          const { currentDetails } = await one.query<Metadata>('__temporal_workflow_metadata');
          return Boolean(currentDetails) && (await one.query<object | null>('state')) !== null;
        }, 'its details and its state');
      const file = new URL(`${fileNameOf(type)}.continued-as-new.json`, FOLDER);
      if (process.env.RECORD_HISTORIES === '1' && !existsSync(file))
        writeHistory(file, await run.fetchHistory());
      else
        expect(own.flatMap(({ events }) => named(events, 'WORKFLOW_EXECUTION_CONTINUED_AS_NEW'))).not.toEqual(
          [],
        );
    });
  });

  it('shows each of its activities, with a summary, in some history', () => {
    const called = new Set(
      histories.flatMap(({ events }) =>
        named(events, 'ACTIVITY_TASK_SCHEDULED')
          .filter(hasSummary)
          .map((event) => event.activityTaskScheduledEventAttributes?.activityType.name ?? ''),
      ),
    );
    const services = new Proxy({}, { get: () => ({}) }) as Parameters<typeof createActivities>[0];
    const names = Object.keys(createActivities(services));
    expect(names.filter((name) => !called.has(name))).toEqual([]);
  });
});
