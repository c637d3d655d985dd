// The accounts of deliveries while the whole engine is at work: at no moment is a delivery without anything that would
// move it.

import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as store from '../../../src/webhooks/accounts/account.store.ts';
import type { TenantNumbers } from '../../../src/webhooks/accounts/account.ts';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

/** The tenant's numbers of all time. */
async function count({ database, context }: DeliveryEngine): Promise<TenantNumbers | undefined> {
  const found = await store.count(database, '2020-01-01T00:00:00Z', '2120-01-01T00:00:00Z');
  return found.find(({ tenantId }) => tenantId === context.tenant.id);
}

const missing = (numbers: TenantNumbers | undefined): number => {
  if (numbers === undefined) return 0;
  const { accepted, delivered, waiting, held, failed, canceled } = numbers;
  return accepted - delivered - waiting - held - failed - canceled;
};

describe('the accounts of deliveries', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterAll(() => engine.close());

  it('they add up at every moment, and all ends well', async () => {
    const one = await engine.startProcess();
    const [good, flaky, busy, asleep, gone] = [
      await engine.subscribe(),
      await engine.subscribe({ delaysMs: [20, 20, 20] }),
      await engine.subscribe({ delaysMs: [20, 20, 20] }),
      await engine.subscribe({ active: false }),
      await engine.subscribe({ delaysMs: [3_600_000] }),
    ];
    engine.receiver.answer(flaky.path, (_, n) => ({ status: n % 3 === 0 ? 204 : 500 }));
    engine.receiver.answer(busy.path, (_, n) =>
      n % 4 === 1 ? { status: 503, headers: { 'retry-after': '1' } } : { status: 204 },
    );
    engine.receiver.answer(gone.path, () => ({ status: 500 }));
    const seen: { missing: number; stranded: number }[] = [];
    let counting = true;
    const watching = (async () => {
      while (counting) {
        const numbers = await count(engine);
        seen.push({ missing: missing(numbers), stranded: numbers?.stranded ?? 0 });
        await sleep(5);
      }
    })();
    const replayed: string[] = [];
    for (let round = 0; round < 4; round += 1) {
      for (const { id } of [good, flaky, busy, asleep, gone]) replayed.push(...(await engine.publish(id, 3)));
      await sleep(100);
    }
    // A second process takes over what the first one held; people steer meanwhile.
    await one.stop();
    await engine.startProcess();
    await engine.subscriptions.update(engine.context, asleep.id, { active: true });
    for (const id of replayed.slice(0, 3)) {
      await engine.ended(id);
      await engine.deliveries.retry(engine.context, id);
    }
    await engine.subscriptions.remove(engine.context, gone.id);
    await engine.sweep().run();
    const end = await eventually(
      async () => {
        const numbers = await count(engine);
        return numbers !== undefined && numbers.waiting + numbers.held === 0 && numbers;
      },
      'the end of all deliveries',
      120_000,
    );
    counting = false;
    await watching;
    expect(seen.length).toBeGreaterThan(20);
    expect(seen.filter((numbers) => numbers.missing !== 0 || numbers.stranded !== 0)).toEqual([]);
    expect(end).toMatchObject({ accepted: 60, stranded: 0 });
    expect(end.delivered + end.failed + end.canceled).toBe(60);
    expect(end.canceled).toBe(12);
  });
});
