// Retention with everything real: its schedule, a run of it, and the end of a workflow whose delivery became too old.
import { afterAll, describe, expect, it } from 'vitest';
import { RETENTION_SCHEDULE } from '../../src/platform/temporal/names.ts';
import { ensureSchedules } from '../../src/platform/temporal/schedules.ts';
import { DeliveryExpiryService } from '../../src/webhooks/deliveries/delivery-expiry.service.ts';
import type { RetentionState } from '../../workflows/retention.ts';
import { OLD_ROWS } from '../operations/retention/old-rows.ts';
import { createEngine, eventually } from './delivery-engine.ts';
import { startRetentionWorker } from './retention-engine.ts';

const engine = await createEngine();
afterAll(() => engine.close());

describe('the schedule', () => {
  it('is made once, begins immediately, says what it removed, and comes back after it was deleted', async () => {
    const { database, context } = engine;
    await OLD_ROWS.challenges?.insert(26, { database, context });
    const { client, queue: taskQueue, run, stop } = await startRetentionWorker(engine);
    expect(await ensureSchedules(client, { taskQueue })).toBe('made');
    expect(await ensureSchedules(client, { taskQueue })).toBe('unchanged');
    const first = await run(0);
    expect(await first.result()).toMatchObject({ 'days accounted for': 31 });
    // Not the count of the report: a call whose answer a busy machine lost is repeated, and then finds nothing.
    const { rows } = await database.query<{ left: number }>('SELECT count(*)::int AS left FROM challenges');
    expect(rows).toEqual([{ left: 0 }]);
    expect(await first.query<RetentionState>('state')).toMatchObject({ doing: 'ended', failed: [] });
    const handle = client.schedule.getHandle(RETENTION_SCHEDULE);
    await handle.pause('by an operator');
    await handle.update((previous) => ({ ...previous, spec: { intervals: [{ every: '3h' }] } }));
    expect(await ensureSchedules(client, { taskQueue })).toBe('changed');
    const { spec, state } = await handle.describe();
    expect([spec.intervals?.[0]?.every, state.paused]).toEqual([900_000, true]);
    await handle.delete();
    await eventually(
      async () => (await ensureSchedules(client, { taskQueue })) === 'made',
      'it to come back',
    );
    await stop();
  });

  it('begins its history anew when there is very much to do, and does nothing twice', async () => {
    const calls = new Map<string, number>();
    const endless = (step: string) => async () => {
      calls.set(step, (calls.get(step) ?? 0) + 1);
      return { count: 1, more: true };
    };
    const names = ['challenges', 'revocations', 'idempotency'];
    const { client, queue, run, stop } = await startRetentionWorker(engine, (services) => ({
      ...services,
      makePartitions: endless('partitions made'),
      expireDeliveries: endless('deliveries expired'),
      countAccounts: endless('days accounted for'),
      dropPartitions: endless('partitions dropped'),
      purgeNames: () => names,
      purge: (name) => endless(name)(),
    }));
    await ensureSchedules(client, { taskQueue: queue });
    const report = await (await run(0)).result();
    const steps = [
      'partitions made',
      'deliveries expired',
      'days accounted for',
      'partitions dropped',
      ...names,
    ];
    const all = Object.fromEntries(steps.map((step) => [step, 30]));
    expect(report).toEqual(all);
    expect(Object.fromEntries(calls)).toEqual(all);
    const { events } = await (await run(0)).fetchHistory();
    expect(events?.length).toBeLessThan(1_000);
    expect(events?.[0]?.workflowExecutionStartedEventAttributes?.continuedExecutionRunId).not.toBe('');
    await stop();
  });

  it('does all other steps when one fails, and the run shows which', async () => {
    const {
      client,
      queue: taskQueue,
      run,
      stop,
    } = await startRetentionWorker(engine, (services) => ({
      ...services,
      purgeNames: () => ['challenges', 'revocations'],
      purge: (name, pulse) =>
        name === 'challenges' ? Promise.reject(new Error('not now')) : services.purge(name, pulse),
    }));
    await ensureSchedules(client, { taskQueue });
    const first = await run(0);
    await expect(first.result()).rejects.toMatchObject({
      cause: { message: 'not done: challenges', type: 'RetentionIncomplete' },
    });
    expect(await first.query<RetentionState>('state')).toMatchObject({
      failed: ['challenges'],
      report: { revocations: 0 },
    });
    await stop();
  });
});

describe('a delivery that became too old', () => {
  it('ends with its workflow, which waited for the next attempt or for its endpoint', async () => {
    const process = await engine.startProcess();
    const failing = await engine.subscribe({ delaysMs: [3_600_000] });
    engine.receiver.answer(failing.path, () => ({ status: 500 }));
    const [waiting = ''] = await engine.publish(failing.id);
    await engine.failedOnce(waiting);
    const expiry = new DeliveryExpiryService({
      database: engine.database,
      records: engine.records,
      onWork: engine.notifier.poke,
    });
    expect(await expiry.expire(0, 100)).toBe(1);
    expect(await engine.workflow(waiting).result()).toMatchObject({ status: 'canceled' });
    expect(await engine.delivery(waiting)).toMatchObject({ status: 'canceled', last_error: 'expired' });
    await process.stop();
  });
});
