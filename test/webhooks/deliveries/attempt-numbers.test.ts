// Each POST is an attempt with its own number, also when two of them are under way together; and each is recorded once.
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { AttemptReport } from '../../../src/webhooks/deliveries/attempt.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

const FAILED = {
  kind: 'retry',
  statusCode: 500,
  errorClass: 'status',
  error: 'http:500',
  hold: false,
} as const;
const DELIVERED = { kind: 'delivered', statusCode: 200 } as const;

describe('the number of an attempt', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterAll(() => engine.close());

  const reportOf = (deliveryId: string, more: Partial<AttemptReport> = {}): AttemptReport => ({
    deliveryId,
    generation: 0,
    n: 1,
    probe: false,
    startedAt: '2026-01-01T00:00:00.000Z',
    durationMs: 5,
    phases: { dns_ms: null, connect_ms: null, tls_ms: null, first_byte_ms: null, total_ms: 5 },
    outcome: FAILED,
    retryAfterSeconds: null,
    ...more,
  });
  const another = '2026-01-01T00:00:01.000Z';
  const shown = async (delivery: string) =>
    (await engine.attempts(delivery)).map(({ n, generation, outcome }) => [n, generation, outcome]);

  it('is its own when a replay begins while the POST before is under way, and its hold counts', async () => {
    const { stop } = await engine.startProcess();
    const { id, path } = await engine.subscribe({ delaysMs: [100, 100, 100] });
    let answer: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      answer = resolve;
    });
    engine.receiver.answer(path, async ({ deliveryId }, count) => {
      if (count === 1) await held;
      const firstIsRecorded = async () => (await engine.attempts(deliveryId)).length === 1;
      if (count === 2) await eventually(firstIsRecorded, 'the record of the first');
      return count === 1 ? { status: 500 } : { status: 503, headers: { 'retry-after': '3600' } };
    });
    const [delivery = ''] = await engine.publish(id);
    await eventually(() => engine.receiver.of(path).length >= 1, 'the first POST');
    await engine.deliveries.cancel(engine.context, delivery);
    await engine.deliveries.retry(engine.context, delivery);
    await eventually(() => engine.receiver.of(path).length >= 2, 'the POST of the replay');
    answer();
    await eventually(async () => (await engine.attempts(delivery)).length === 2, 'both records');
    await engine.quiet(id);
    expect(engine.receiver.of(path)).toHaveLength(2);
    expect(await shown(delivery)).toEqual([
      [1, 0, 'retry'],
      [2, 1, 'retry'],
    ]);
    const row = await engine.delivery(delivery);
    expect(row).toMatchObject({ status: 'retrying', generation: 1, attempt_count: 2, failed_attempts: 1 });
    expect(Number(row.next_attempt_at)).toBeGreaterThan(Date.now() + 3_500_000);
    expect((await engine.deliveries.get(engine.context, delivery)).attempts).toHaveLength(2);
    await stop();
  });

  it.each([
    ['a failure after a failure', FAILED, FAILED, 'retrying'],
    ['a 2xx after a failure', FAILED, DELIVERED, 'delivered'],
    ['a failure after a 2xx', DELIVERED, FAILED, 'delivered'],
    ['a 2xx after a 2xx', DELIVERED, DELIVERED, 'delivered'],
  ])('is the next one for %s that took the same number', async (_, first, second, status) => {
    const { id } = await engine.subscribe({ delaysMs: [3_600_000, 3_600_000] });
    const [delivery = ''] = await engine.publish(id);
    const { attemptRecords } = engine.createAttempts();
    const one = reportOf(delivery, { outcome: first });
    const two = reportOf(delivery, { outcome: second, startedAt: another });
    // Each is recorded again: the answer of the first time got lost.
    for (const [report, n] of [
      [one, 1],
      [two, 2],
      [one, 1],
      [two, 2],
    ] as const) {
      expect((await attemptRecords.record(report, { workflow: true })).last.n).toBe(n);
    }
    expect(await shown(delivery)).toEqual([
      [1, 0, first.kind],
      [2, 0, second.kind],
    ]);
    expect(await engine.delivery(delivery)).toMatchObject({ status, attempt_count: 2 });
  });

  it('is chosen once each for POSTs that are recorded at the same moment', async () => {
    const { id } = await engine.subscribe({ delaysMs: [3_600_000] });
    const [delivery = ''] = await engine.publish(id);
    const { attemptRecords } = engine.createAttempts();
    const reports = Array.from({ length: 6 }, (_, k) =>
      reportOf(delivery, {
        startedAt: new Date(Date.UTC(2026, 0, 1) + k).toISOString(),
        outcome: k % 2 === 0 ? FAILED : DELIVERED,
      }),
    );
    await Promise.all(
      [...reports, ...reports].map((report) => attemptRecords.record(report, { workflow: true })),
    );
    const attempts = await engine.attempts(delivery);
    expect(attempts.map(({ n }) => n)).toEqual([1, 2, 3, 4, 5, 6]);
    expect(new Set(attempts.map(({ started_at }) => Number(started_at))).size).toBe(6);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered', attempt_count: 6 });
  });

  it('does not have the same attempt made again when its record got another number', async () => {
    const { id, path } = await engine.subscribe({ delaysMs: [3_600_000, 3_600_000] });
    const [delivery = ''] = await engine.publish(id);
    const { attempts, attemptRecords } = engine.createAttempts();
    await attemptRecords.record(reportOf(delivery, { n: 1 }), { workflow: true });
    await attemptRecords.record(reportOf(delivery, { n: 1, startedAt: another }), { workflow: true });
    const again = await attempts.send({ deliveryId: delivery, generation: 0, n: 2 }, { workflow: true });
    expect(again).toMatchObject({ kind: 'settled', step: { kind: 'wait' }, last: { n: 2 } });
    expect(engine.receiver.of(path)).toEqual([]);
  });

  it.each([
    ['failures', FAILED],
    ['a 2xx', DELIVERED],
  ])(
    'follows the last one that the database has, when a restore has forgotten some: %s',
    async (_, outcome) => {
      const { id } = await engine.subscribe({ delaysMs: [3_600_000, 3_600_000, 3_600_000] });
      const [delivery = ''] = await engine.publish(id);
      const { attempts, attemptRecords } = engine.createAttempts();
      await attemptRecords.record(reportOf(delivery), { workflow: true });
      // The workflow has made attempts 2 and 3, of which the restored database knows nothing.
      const report = reportOf(delivery, { n: 4, startedAt: another, outcome });
      expect((await attemptRecords.record(report, { workflow: true })).last.n).toBe(2);
      expect(await shown(delivery)).toEqual([
        [1, 0, 'retry'],
        [2, 0, outcome.kind],
      ]);
      expect(await engine.delivery(delivery)).toMatchObject({ attempt_count: 2 });
      await engine.database.query(
        "UPDATE deliveries SET next_attempt_at = now() WHERE id = $1 AND status = 'retrying'",
        [delivery],
      );
      const sent = await attempts.send({ deliveryId: delivery, generation: 0, n: 9 }, { workflow: true });
      expect(sent).toMatchObject({ last: { n: outcome === FAILED ? 3 : 2 } });
    },
  );

  it('is recorded with its endpoint in one order, so that a 2xx and a failure never wait for each other', async () => {
    const { id } = await engine.subscribe({ delaysMs: [3_600_000, 3_600_000] });
    const [delivery = ''] = await engine.publish(id);
    await engine.createAttempts().attemptRecords.record(reportOf(delivery), { workflow: true });
    let inserted: () => void = () => undefined;
    const insertion = new Promise<void>((resolve) => {
      inserted = resolve;
    });
    const failing = engine.createAttempts({
      endpoints: {
        noteFailures: async (...args) => {
          inserted();
          // The other one waits for what this transaction has locked.
          await engine.lockIsWaitedFor();
          return engine.endpoints.noteFailures(...args);
        },
      },
    });
    const report = reportOf(delivery, { n: 2, startedAt: another });
    const failure = failing.attemptRecords.record(report, { workflow: true });
    await insertion;
    // The same POST, which another worker has seen succeed; its endpoint is one that fails.
    const success = engine
      .createAttempts()
      .attemptRecords.record({ ...report, outcome: DELIVERED }, { workflow: true });
    await expect(Promise.all([failure, success])).resolves.toHaveLength(2);
    expect(await shown(delivery)).toEqual([
      [1, 0, 'retry'],
      [2, 0, 'delivered'],
    ]);
    expect(await engine.delivery(delivery)).toMatchObject({ status: 'delivered', attempt_count: 2 });
  });
});
