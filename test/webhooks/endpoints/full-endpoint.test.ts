// Attempts of workflows for an endpoint whose places are all taken: they wait for a place, and are parked when none
// becomes free.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createEngine, type DeliveryEngine, eventually } from '../../workflows/delivery-engine.ts';

describe('an endpoint with one place', () => {
  let engine: DeliveryEngine;
  beforeAll(async () => {
    engine = await createEngine();
  });
  afterAll(() => engine?.close());

  const prepare = async (count: number, placeWait?: number) => {
    const { id, path } = await engine.subscribe();
    await engine.database.query('UPDATE endpoints SET in_flight_cap = 1 WHERE subscription_id = $1', [id]);
    let now = 0;
    let most = 0;
    let answer = () => undefined as undefined;
    const until = new Promise<void>((resolve) => {
      answer = () => void resolve() as undefined;
    });
    engine.receiver.answer(path, async () => {
      now += 1;
      most = Math.max(most, now);
      await until;
      await sleep(10);
      now -= 1;
      return { status: 204 };
    });
    const { attempts } = engine.createAttempts(placeWait === undefined ? {} : { placeWait });
    const ids = await engine.publish(id, count);
    const sends = ids.map((deliveryId) =>
      attempts.send({ deliveryId, generation: 0, n: 1 }, { workflow: true }),
    );
    return { ids, sends, answer, most: () => most };
  };

  it('makes the attempts of three workflows one after the other, and parks none', async () => {
    const { ids, sends, answer, most } = await prepare(3);
    await eventually(() => most() === 1, 'the first');
    answer();
    const ended = { kind: 'settled', step: { kind: 'ended', status: 'delivered' } };
    for (const sent of await Promise.all(sends)) expect(sent).toMatchObject(ended);
    expect(most()).toBe(1);
    for (const id of ids) expect(await engine.delivery(id)).toMatchObject({ waiting_epoch: null });
  });

  it('parks an attempt that finds no place in time', async () => {
    const { ids, sends, answer } = await prepare(2, 50);
    const parked = await Promise.race(sends);
    expect(parked).toMatchObject({ kind: 'settled', step: { kind: 'held' } });
    answer();
    await Promise.all(sends);
    const rows = await Promise.all(ids.map((id) => engine.delivery(id)));
    expect(rows.map(({ status }) => status).sort()).toEqual(['delivered', 'pending']);
    expect((await engine.outbox()).filter(({ kind }) => kind === 'wake')).toHaveLength(1);
  });
});
