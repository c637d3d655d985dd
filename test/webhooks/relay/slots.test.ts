import { describe, expect, it } from 'vitest';
import { createSlots, type Flight } from '../../../src/webhooks/relay/slots.ts';
import { createStartWindow } from '../../../src/webhooks/relay/start-window.ts';

const LIMITS = { total: 10, tenant: 6, local: 4 };
const flight = (deliveryId: string, more: Partial<Flight> = {}): Flight => ({
  deliveryId,
  tenantId: 'tenant',
  lane: 'lane',
  local: false,
  attempts: 0,
  since: 1_000,
  ...more,
});

describe('slots', () => {
  it('counts in flight by process, tenant and lane, and forgets what has ended', () => {
    const slots = createSlots(LIMITS);
    slots.add(flight('1'));
    slots.add(flight('1'));
    slots.add(flight('2', { lane: 'other' }));
    expect([slots.size(), slots.free(), slots.tenantRoom('tenant'), slots.tenantRoom('another')]).toEqual([
      2, 8, 4, 6,
    ]);
    expect(slots.laneRoom('lane', 3, 0, 1_000)).toEqual({ room: 2, local: false });
    expect(slots.remove('1')).toBe(true);
    expect(slots.remove('1')).toBe(false);
    expect(slots.laneRoom('lane', 3, 0, 1_000)).toEqual({ room: 3, local: false });
    expect(slots.free()).toBe(9);
  });

  it('lets a fast lane have its share of local attempts, within the limit of the process', () => {
    const slots = createSlots(LIMITS);
    expect(slots.laneRoom('lane', 32, 16, 1_000)).toEqual({ room: 4, local: true });
    for (const id of ['1', '2', '3']) slots.add(flight(id, { lane: 'other', local: true }));
    expect(slots.laneRoom('lane', 32, 16, 1_000)).toEqual({ room: 1, local: true });
    slots.add(flight('4', { local: true }));
    expect(slots.laneRoom('lane', 32, 16, 1_100)).toEqual({ room: 0, local: true });
  });

  it('goes on with normal attempts when the local ones of a lane take long', () => {
    const slots = createSlots(LIMITS);
    slots.add(flight('1', { local: true }));
    expect(slots.laneRoom('lane', 32, 16, 1_200)).toMatchObject({ local: true });
    expect(slots.laneRoom('lane', 32, 16, 1_300)).toEqual({ room: 31, local: false });
  });

  it('names the flights that nobody has reported for long', () => {
    const slots = createSlots(LIMITS);
    slots.add(flight('old', { since: 100 }));
    slots.add(flight('new', { since: 900 }));
    expect(slots.olderThan(500).map(({ deliveryId }) => deliveryId)).toEqual(['old']);
  });
});

describe('the window of starts', () => {
  it('lets so many through, the others in order, and takes each permit back once', async () => {
    const window = createStartWindow(2);
    const order: number[] = [];
    const releases: (() => void)[] = [];
    const runs = [0, 1, 2, 3].map(async (n) => {
      releases[n] = await window.acquire();
      order.push(n);
    });
    await Promise.all(runs.slice(0, 2));
    expect(order).toEqual([0, 1]);
    releases[0]?.();
    releases[0]?.();
    await runs[2];
    expect(order).toEqual([0, 1, 2]);
    releases[1]?.();
    await runs[3];
    expect(order).toEqual([0, 1, 2, 3]);
  });
});
