// What every delivery log must do; the one in memory and the recipes of the documentation are held to it.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { DeliveryLog, DeliveryRecord } from '../../../packages/receiver/src/index.ts';

export function recordOf(changes: Partial<DeliveryRecord> = {}): DeliveryRecord {
  return {
    delivery_id: randomUUID(),
    event_type: 'auth.login.success',
    received_at: new Date(),
    status: 'accepted',
    ...changes,
  };
}

export const delivery = (seconds = 300) => ({
  body: new TextEncoder().encode('{}'),
  replayableUntil: new Date(Date.now() + seconds * 1000),
});

/** Fails unless the log keeps to the contract of `DeliveryLog`. */
export async function expectContract(log: DeliveryLog): Promise<void> {
  const later = (record: DeliveryRecord) => ({
    ...record,
    received_at: new Date(record.received_at.getTime() + 5),
  });
  for (const status of ['processed', 'ignored'] as const) {
    const record = recordOf({ event_id: 'e-1' });
    expect(await log.accept(record, delivery())).toBe('accepted');
    expect(await log.accept(later(record), delivery())).toBe('in_progress');
    await log.settle({ ...record, status });
    expect(await log.accept(later(record), delivery())).toBe('duplicate');
    expect(await log.accept(later(record), delivery())).toBe('duplicate');
  }
  const failing = recordOf();
  expect(await log.accept(failing, delivery())).toBe('accepted');
  await log.settle({ ...failing, status: 'failed' });
  expect(await log.accept(later(failing), delivery())).toBe('accepted');
  expect(await log.accept(later(later(failing)), delivery())).toBe('in_progress');
  // The first handler's late end is not the second one's.
  await log.settle({ ...failing, status: 'processed' });
  expect(await log.accept(later(later(failing)), delivery())).toBe('in_progress');
  await log.settle({ ...later(failing), status: 'processed' });
  expect(await log.accept(later(later(failing)), delivery())).toBe('duplicate');

  const contested = recordOf();
  const acceptances = await Promise.all(Array.from({ length: 20 }, () => log.accept(contested, delivery())));
  expect(acceptances.filter((acceptance) => acceptance === 'accepted')).toHaveLength(1);
  expect(acceptances.filter((acceptance) => acceptance === 'in_progress')).toHaveLength(19);
}

/** Fails unless a delivery runs again whose handler has been silent for so long that it must be dead. */
export async function expectLease(log: DeliveryLog): Promise<void> {
  const dead = recordOf({ received_at: new Date(Date.now() - 3_600_000) });
  expect(await log.accept(dead, delivery())).toBe('accepted');
  const again = { ...dead, received_at: new Date() };
  expect(await log.accept(again, delivery())).toBe('accepted');
  expect(await log.accept(again, delivery())).toBe('in_progress');
}
