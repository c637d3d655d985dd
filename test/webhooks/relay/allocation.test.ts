import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  allocate,
  type EndpointRoom,
  START_OF_ROTATION,
  tokenWait,
} from '../../../src/webhooks/relay/allocation.ts';
import type { Room, Speed } from '../../../src/webhooks/relay/slot-room.ts';

/** An open endpoint that has succeeded, without pace and rate. */
const CALM = { permits: null, tokens: null, failures: 0, probeStep: 0 };
const endpoint = (tenantId: string, name: string, room = 100, speed: Speed = 'fast'): EndpointRoom => ({
  ...CALM,
  tenantId,
  endpoint: name,
  speed,
  room,
});
const all = (slots: number): Room => ({ fast: slots, unproven: slots, slow: slots });
const divide = (input: Partial<Parameters<typeof allocate>[0]> & { endpoints: EndpointRoom[] }) =>
  allocate({
    free: all(100),
    tenantRoom: () => all(100),
    quantum: 4,
    rotation: START_OF_ROTATION,
    draw: 0,
    ...input,
  });

const quotas = (shares: { endpoint: string; quota: number }[]) =>
  Object.fromEntries(shares.map(({ endpoint: name, quota }) => [name, quota]));

describe('sharing slots out', () => {
  it('gives a tenant with one endpoint as much as a tenant with many', () => {
    const endpoints = [
      ...Array.from({ length: 50 }, (_, n) => endpoint('a', `a${String(n).padStart(2, '0')}`)),
      endpoint('b', 'b'),
    ];
    const { shares } = divide({ endpoints, free: all(40) });
    expect(quotas(shares).b).toBe(20);
  });

  it('goes on behind the tenant and the endpoint that it served last', () => {
    const endpoints = [endpoint('a', 'a1'), endpoint('a', 'a2'), endpoint('b', 'b1'), endpoint('c', 'c1')];
    let rotation = START_OF_ROTATION;
    const served: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const result = divide({ endpoints, free: all(4), rotation });
      rotation = result.rotation;
      served.push(...result.shares.map((share) => share.endpoint));
    }
    expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'b1', 'c1']);
  });

  it('keeps to the room of each endpoint and each tenant', () => {
    const { shares } = divide({
      endpoints: [
        endpoint('a', 'a1', 3),
        endpoint('a', 'a2', 50),
        endpoint('b', 'b1', 0),
        endpoint('c', 'c1', 9),
      ],
      tenantRoom: (tenant) => all(tenant === 'a' ? 10 : 6),
    });
    expect(quotas(shares)).toEqual({ a1: 3, a2: 7, c1: 6 });
  });

  it('keeps slots for the fast, and some of the others for the unproven', () => {
    const endpoints = [
      endpoint('a', 'slow', 100, 'slow'),
      endpoint('a', 'unproven', 100, 'unproven'),
      endpoint('a', 'fast'),
      endpoint('b', 'slow of b', 100, 'slow'),
    ];
    const part: Room = { fast: 20, unproven: 12, slow: 6 };
    const withoutFast = endpoints.filter(({ speed }) => speed !== 'fast');
    expect(quotas(divide({ endpoints: withoutFast, tenantRoom: () => part }).shares)).toEqual({
      slow: 6,
      unproven: 6,
      'slow of b': 6,
    });
    const { shares } = divide({
      endpoints,
      free: { fast: 30, unproven: 14, slow: 8 },
      tenantRoom: () => part,
    });
    const { slow = 0, unproven = 0, fast = 0, 'slow of b': other = 0 } = quotas(shares);
    expect(slow + other).toBe(8);
    expect(slow + other + unproven).toBe(14);
    expect(fast).toBe(20 - slow - unproven);
  });

  it('never gives more than there is, and never leaves a slot that somebody could use', () => {
    const endpoints = fc.uniqueArray(
      fc.record({
        tenantId: fc.constantFrom('a', 'b', 'c'),
        endpoint: fc.string({ minLength: 1, maxLength: 4 }),
        room: fc.integer({ min: 0, max: 20 }),
        speed: fc.constantFrom('fast', 'unproven', 'slow'),
      }),
      { selector: (each) => each.endpoint, maxLength: 30 },
    );
    fc.assert(
      fc.property(
        endpoints,
        fc.integer({ min: 0, max: 80 }),
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 1, max: 8 }),
        (rooms, free, tenantRoom, quantum) => {
          const { shares } = divide({
            endpoints: rooms.map((room) => ({ ...CALM, ...room })),
            free: all(free),
            tenantRoom: () => all(tenantRoom),
            quantum,
          });
          const given = shares.reduce((sum, { quota }) => sum + quota, 0);
          const roomOf = new Map(rooms.map((each) => [each.endpoint, each.room]));
          for (const share of shares) {
            expect(share.quota).toBeGreaterThan(0);
            expect(share.quota).toBeLessThanOrEqual(roomOf.get(share.endpoint) ?? 0);
          }
          const possible = ['a', 'b', 'c'].reduce((sum, tenant) => {
            const own = rooms.filter((each) => each.tenantId === tenant);
            return (
              sum +
              Math.min(
                tenantRoom,
                own.reduce((total, each) => total + each.room, 0),
              )
            );
          }, 0);
          expect(given).toBe(Math.min(free, possible));
        },
      ),
    );
  });
});

describe('who goes first at an endpoint', () => {
  const share = (state: Partial<EndpointRoom>, { draw = 0, room = 4 } = {}) =>
    divide({ endpoints: [{ ...endpoint('a', 'a1', room), ...state }], draw, quantum: 100 }).shares[0];

  // Each row is a rule; `draw` is the random number.
  it.each([
    { rule: 'first attempts have what late retries leave', state: {}, gets: [4, 2, true] },
    {
      rule: 'a low draw gives the odd place to first attempts',
      state: {},
      room: 5,
      draw: 0.49,
      gets: [5, 2, true],
    },
    {
      rule: 'a high draw gives the odd place to late retries',
      state: {},
      room: 5,
      draw: 0.5,
      gets: [5, 3, true],
    },
    { rule: 'a single place is drawn as well', state: {}, room: 1, draw: 0.9, gets: [1, 1, true] },
    { rule: 'failures without a pace change nothing', state: { failures: 3 }, gets: [4, 2, true] },
    { rule: 'a pace without failures changes no order', state: { permits: 9 }, gets: [4, 2, true] },
    {
      rule: 'a paced one gives all to retries after an odd failure',
      state: { permits: 9, failures: 3 },
      gets: [4, 4, false],
    },
    {
      rule: 'a paced one gives none to retries after an even failure',
      state: { permits: 9, failures: 2 },
      draw: 0.9,
      gets: [4, 0, false],
    },
    {
      rule: 'one that has opened after probes shows by retries that it takes any',
      state: { probeStep: 1, failures: 2 },
      gets: [4, 4, false],
    },
    {
      rule: 'the turns of a pace go before what probes have shown',
      state: { permits: 9, probeStep: 1, failures: 2 },
      gets: [4, 0, false],
    },
    { rule: 'a paced one gets at most its permits', state: { permits: 2 }, gets: [2, 1, true] },
    { rule: 'one with a rate gets at most its whole tokens', state: { tokens: 3.9 }, gets: [3, 1, true] },
    { rule: 'the fewer of permits and tokens count', state: { permits: 1, tokens: 3 }, gets: [1, 0, true] },
    { rule: 'without a permit it gets nothing', state: { permits: 0 }, gets: undefined },
    { rule: 'tokens below zero are none', state: { tokens: -2.5 }, gets: undefined },
  ])('$rule', ({ state, draw, room, gets }) => {
    const given = share(state, { draw, room });
    expect(given && [given.quota, given.retries, given.late]).toEqual(gets);
  });

  it.each([
    { tokens: null, rate: null, ms: Number.POSITIVE_INFINITY },
    { tokens: 1, rate: 5, ms: Number.POSITIVE_INFINITY },
    { tokens: 0.5, rate: 5, ms: 100 },
    { tokens: -1, rate: 4, ms: 500 },
  ])('waits $ms ms for the next token with $tokens at $rate a second', ({ tokens, rate, ms }) => {
    expect(tokenWait({ tokens, rate })).toBe(ms);
  });
});
