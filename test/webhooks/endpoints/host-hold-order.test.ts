// A subscription that leaves a host in the moment of an operator's act on it: whichever commits first, its endpoint
// keeps to the host that it points to, and to no other.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from 'vitest';
import type { Transaction } from '../../../src/platform/database/transaction.ts';
import { HostHoldService } from '../../../src/webhooks/endpoints/host-hold.service.ts';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const hosts = new HostHoldService({});
const INTENT = { length: 'released', reason: 'test', operator: 'jo' } as const;
let names = 0;

/** Does `work` in a transaction that stays open. @returns how to commit it */
async function begin(work: (transaction: Transaction) => Promise<unknown>): Promise<() => Promise<void>> {
  let commit: () => void = () => undefined;
  const committing = new Promise<void>((resolve) => {
    commit = resolve;
  });
  let transaction: Promise<void> = Promise.resolve();
  await new Promise<void>((resolve, reject) => {
    transaction = rooms.database.transaction({}, async (open) => {
      await work(open);
      resolve();
      await committing;
    });
    transaction.catch(reject);
  });
  return async () => {
    commit();
    await transaction;
  };
}

/** Waits until `work` is over, or waits for somebody's lock. */
async function settleOrWait(work: Promise<unknown>): Promise<void> {
  let over = false;
  const end = () => {
    over = true;
  };
  work.then(end, end);
  while (!over) {
    const { rowCount } = await rooms.database.query(
      'SELECT 1 FROM pg_locks WHERE NOT granted AND pid IN (SELECT pid FROM pg_stat_activity WHERE datname = current_database())',
    );
    if (rowCount > 0) return;
    await sleep(10);
  }
}

async function endpointOf(id: string) {
  const { rows } = await rooms.database.query<{ held: boolean; open: boolean }>(
    `SELECT coalesce(host_held_until > now(), false) AS held, endpoint_is_open(endpoints) AS open FROM endpoints WHERE subscription_id = $1`,
    [id],
  );
  return rows[0];
}

async function enter() {
  names += 1;
  const [here, there] = [`a${names}.example`, `b${names}.example`];
  const id = await rooms.subscribe({ url: `https://${here}/` });
  return { id, here, there };
}

type Place = Awaited<ReturnType<typeof enter>>;

const hold = (unit: Transaction, host: string) => hosts.hold(unit, host, INTENT);
const leave = (transaction: Transaction, { id, there }: Place) =>
  rooms.subscriptions.update({ ...rooms.demo, transaction }, id, { url: `https://${there}/` });
const alone = (work: (transaction: Transaction) => Promise<unknown>) => rooms.database.transaction({}, work);

/** Both in transactions of their own, the second while the first is open. */
async function overlap(
  first: (transaction: Transaction) => Promise<unknown>,
  second: (transaction: Transaction) => Promise<unknown>,
): Promise<void> {
  const commit = await begin(first);
  const following = alone(second);
  await settleOrWait(following);
  await commit();
  await following;
}

describe.each([
  ['just before', true],
  ['just after', false],
])('a subscription that leaves a host %s an operator', (_, leavesFirst) => {
  const race = (place: Place, act: (transaction: Transaction) => Promise<unknown>) => {
    const leaving = (transaction: Transaction) => leave(transaction, place);
    return leavesFirst ? overlap(leaving, act) : overlap(act, leaving);
  };

  it('holds it is not held where it goes', async () => {
    const place = await enter();
    await race(place, (unit) => hold(unit, place.here));
    expect(await endpointOf(place.id)).toEqual({ held: false, open: true });
  });

  it('releases it stays held where it goes', async () => {
    const place = await enter();
    await alone((unit) => hold(unit, place.here));
    await alone((unit) => hold(unit, place.there));
    await race(place, (unit) => hosts.release(unit, place.here));
    expect(await endpointOf(place.id)).toEqual({ held: true, open: false });
    await alone((unit) => hosts.release(unit, place.there));
    expect(await endpointOf(place.id)).toEqual({ held: false, open: true });
  });
});

it('many come, go and are held together, and none of them stands in the way of another', async () => {
  const places = await Promise.all(Array.from({ length: 6 }, enter));
  const [one, other] = ['one.example', 'other.example'];
  const visit = async ({ id }: Place) => {
    for (const host of [one, other, one, other, one])
      await rooms.subscriptions.update(rooms.demo, id, { url: `https://${host}/` });
  };
  const operate = async (host: string) => {
    for (let n = 0; n < 5; n += 1) {
      await alone((unit) => hold(unit, host));
      await alone((unit) => hosts.release(unit, host));
    }
    await alone((unit) => hold(unit, host));
  };
  await Promise.all([...places.map(visit), operate(one), operate(other)]);
  await alone((unit) => hosts.release(unit, other));
  for (const { id } of places) expect(await endpointOf(id)).toEqual({ held: true, open: false });
  await alone((unit) => hosts.release(unit, one));
  for (const { id } of places) expect(await endpointOf(id)).toEqual({ held: false, open: true });
});
