import { describe, expect, it } from 'vitest';
import type { Speed } from '../../../src/webhooks/relay/slot-room.ts';
import { createSlots, type Flight } from '../../../src/webhooks/relay/slots.ts';
import { createStartWindow } from '../../../src/webhooks/relay/start-window.ts';

type Ready = { tenantId: string; endpoint: string; speed: Speed; cap: number };

const LIMITS = {
  total: { fast: 20, unproven: 15, slow: 10 },
  tenant: { fast: 12, unproven: 9, slow: 6 },
};
const flight = (deliveryId: string, more: Partial<Flight> = {}): Flight => ({
  deliveryId,
  tenantId: 'tenant',
  endpoint: 'endpoint',
  speed: 'fast',
  attempts: 0,
  since: 1_000,
  ...more,
});
const ready = (endpoint: string, more: Partial<Ready> = {}): Ready => ({
  tenantId: 'tenant',
  endpoint,
  speed: 'fast',
  cap: 32,
  ...more,
});

describe('slots', () => {
  const roomsOf = (slots: ReturnType<typeof createSlots>, endpoints: Ready[], now = 1_000) =>
    slots.rooms(endpoints, now).endpoints.map(({ room, speed }) => ({ room, speed }));

  it('counts in flight by process, tenant and endpoint, and forgets what has ended', () => {
    const slots = createSlots(LIMITS);
    slots.add(flight('1'));
    slots.add(flight('1'));
    slots.add(flight('2', { endpoint: 'other', speed: 'slow' }));
    const { free, tenantRoom } = slots.rooms([], 1_000);
    expect(free).toEqual({ fast: 18, unproven: 14, slow: 9 });
    expect(tenantRoom('tenant')).toEqual({ fast: 10, unproven: 8, slow: 5 });
    expect(tenantRoom('another')).toEqual(LIMITS.tenant);
    expect(roomsOf(slots, [ready('endpoint', { cap: 3 })])).toEqual([{ room: 2, speed: 'fast' }]);
    expect(slots.remove('1')).toBe(true);
    expect(slots.remove('1')).toBe(false);
    expect(roomsOf(slots, [ready('endpoint', { cap: 3 })])).toEqual([{ room: 3, speed: 'fast' }]);
  });

  it('lets an endpoint have no more than its share of its tenant while others of its speed have work', () => {
    const slots = createSlots(LIMITS);
    const slow = (endpoint: string) => ready(endpoint, { speed: 'slow' });
    const rooms = (endpoints: Ready[]) => roomsOf(slots, endpoints).map(({ room }) => room);
    expect(rooms([slow('a')])).toEqual([6]);
    slots.add(flight('1', { endpoint: 'a', speed: 'slow' }));
    expect(rooms([slow('a'), slow('b'), ready('fast')])).toEqual([2, 3, 12]);
    // One that has nothing more to do, and something under way, counts as well.
    expect(rooms([slow('b')])).toEqual([3]);
    expect(rooms([slow('b'), { ...slow('c'), tenantId: 'another' }])).toEqual([3, 6]);
    expect(rooms(['b', 'c', 'd', 'e', 'f', 'g', 'h'].map(slow))).toEqual([1, 1, 1, 1, 1, 1, 1]);
  });

  it('lets an endpoint of which nothing is known have a few attempts, until it is known', () => {
    const slots = createSlots({ ...LIMITS, tenant: { fast: 64, unproven: 48, slow: 32 } });
    const rooms = roomsOf(slots, [
      ready('a', { speed: 'unproven' }),
      ready('b'),
      ready('c', { speed: 'slow' }),
    ]);
    expect(rooms.map(({ room }) => room)).toEqual([8, 32, 32]);
  });

  it('takes an endpoint for slow as soon as its attempts take long, before any of them is over', () => {
    const slots = createSlots(LIMITS);
    slots.add(flight('1', { endpoint: 'new', speed: 'unproven' }));
    for (const id of ['2', '3', '4']) slots.add(flight(id));
    for (const id of ['1', '2', '3', '4']) slots.begin(id, 1_500);
    const endpoints = [ready('new', { speed: 'unproven' }), ready('endpoint')];
    const speeds = (now: number) => roomsOf(slots, endpoints, now).map(({ speed }) => speed);
    expect(speeds(2_400)).toEqual(['unproven', 'fast']);
    expect(speeds(2_600)).toEqual(['slow', 'fast']);
    slots.add(flight('5'));
    // What has not begun yet says nothing about a receiver.
    expect(speeds(2_600)).toEqual(['slow', 'fast']);
    slots.begin('5', 1_500);
    expect(speeds(2_600)).toEqual(['slow', 'slow']);
    expect(slots.rooms([], 2_600).free).toEqual({ fast: 15, unproven: 10, slow: 5 });
  });

  it('names the flights that nobody has reported for long', () => {
    const slots = createSlots(LIMITS);
    slots.add(flight('old', { since: 100 }));
    slots.add(flight('new', { since: 900 }));
    expect(slots.olderThan(500).map(({ deliveryId }) => deliveryId)).toEqual(['old']);
  });
});

describe('the window of starts', () => {
  it('lets so many through, and the others in order', async () => {
    const window = createStartWindow(2);
    const order: number[] = [];
    const runs = [0, 1, 2, 3].map(async (n) => {
      await window.enter();
      order.push(n);
    });
    await Promise.all(runs.slice(0, 2));
    expect(order).toEqual([0, 1]);
    window.leave();
    await runs[2];
    expect(order).toEqual([0, 1, 2]);
    window.leave();
    await runs[3];
    expect(order).toEqual([0, 1, 2, 3]);
  });
});
