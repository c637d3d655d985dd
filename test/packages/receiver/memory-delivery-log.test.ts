// Holds the log in memory to the contract, to its bound, and to never forgetting what could still be replayed.
import { describe, expect, it } from 'vitest';
import { createMemoryDeliveryLog, RetryLater } from '../../../packages/receiver/src/index.ts';
import { expectContract, expectLease, recordOf } from './delivery-log-contract.ts';

const START = Date.UTC(2026, 0, 1);
const at = (seconds: number) => new Date(START + seconds * 1000);
const until = (seconds: number) => ({ body: new Uint8Array(), replayableUntil: at(seconds) });

/** Accepts and processes a delivery received at a second, whose signed request is good until another. */
async function process(
  log: ReturnType<typeof createMemoryDeliveryLog>,
  deliveryId: string,
  { received, replayable }: { received: number; replayable: number },
) {
  const record = recordOf({ delivery_id: deliveryId, received_at: at(received) });
  const acceptance = await log.accept(record, until(replayable));
  await log.settle({ ...record, status: 'processed' });
  return acceptance;
}

describe('the delivery log in memory', () => {
  it('keeps to the contract', async () => {
    await expectContract(createMemoryDeliveryLog());
    await expectLease(createMemoryDeliveryLog());
  });

  it('forgets after the time it keeps records, and not before the request has become too old', async () => {
    const log = createMemoryDeliveryLog({ keepSeconds: 100 });
    await process(log, 'a', { received: 0, replayable: 50 });
    await process(log, 'b', { received: 0, replayable: 360 });
    expect(await process(log, 'a', { received: 99, replayable: 50 })).toBe('duplicate');
    expect(await process(log, 'a', { received: 101, replayable: 150 })).toBe('accepted');
    expect(await process(log, 'b', { received: 359, replayable: 359 })).toBe('duplicate');
    expect(await process(log, 'b', { received: 361, replayable: 700 })).toBe('accepted');
  });

  it('remembers for as long as the latest attempt that it saw could be replayed', async () => {
    const log = createMemoryDeliveryLog({ keepSeconds: 0 });
    await process(log, 'a', { received: 0, replayable: 300 });
    expect(await process(log, 'a', { received: 290, replayable: 590 })).toBe('duplicate');
    expect(await process(log, 'a', { received: 580, replayable: 590 })).toBe('duplicate');
  });

  it('when full forgets the oldest that cannot be replayed any more', async () => {
    const log = createMemoryDeliveryLog({ limit: 3 });
    for (const id of ['a', 'b', 'c']) await process(log, id, { received: 0, replayable: 300 });
    for (let n = 0; n < 50; n += 1) {
      await process(log, `more-${n}`, { received: 301 + n * 301, replayable: 600 + n * 301 });
      expect(log.records().length).toBeLessThanOrEqual(3);
    }
    expect(await process(log, 'a', { received: 99_999, replayable: 100_299 })).toBe('accepted');
  });

  it('when full of what could be replayed takes no more, and says when it will', async () => {
    const log = createMemoryDeliveryLog({ limit: 2 });
    await process(log, 'a', { received: 0, replayable: 300 });
    await process(log, 'b', { received: 10, replayable: 310 });
    await expect(process(log, 'c', { received: 100, replayable: 400 })).rejects.toThrow(RetryLater);
    await expect(process(log, 'c', { received: 100, replayable: 400 })).rejects.toMatchObject({
      seconds: 200,
    });
    expect(await process(log, 'a', { received: 100, replayable: 300 })).toBe('duplicate');
  });

  it('when full gives up failed deliveries first, for they run again anyway', async () => {
    const log = createMemoryDeliveryLog({ limit: 2 });
    await process(log, 'a', { received: 0, replayable: 300 });
    const failed = recordOf({ delivery_id: 'b', received_at: at(1) });
    await log.accept(failed, until(300));
    await log.settle({ ...failed, status: 'failed' });
    expect(await process(log, 'c', { received: 2, replayable: 300 })).toBe('accepted');
    expect(log.records().map(({ delivery_id }) => delivery_id)).toEqual(['a', 'c']);
  });

  it('when full does not give up a delivery that a handler may still have', async () => {
    const log = createMemoryDeliveryLog({ limit: 1, leaseSeconds: 300 });
    const running = recordOf({ delivery_id: 'a', received_at: at(0) });
    await log.accept(running, until(60));
    await expect(process(log, 'b', { received: 100, replayable: 400 })).rejects.toMatchObject({
      seconds: 200,
    });
    expect(await log.accept({ ...running, received_at: at(200) }, until(500))).toBe('in_progress');
  });

  it('lets a delivery run again once its handler must be dead', async () => {
    const log = createMemoryDeliveryLog({ leaseSeconds: 60 });
    const record = recordOf({ delivery_id: 'a', received_at: at(0) });
    await log.accept(record, until(300));
    expect(await log.accept({ ...record, received_at: at(59) }, until(359))).toBe('in_progress');
    expect(await log.accept({ ...record, received_at: at(61) }, until(361))).toBe('accepted');
  });
});
