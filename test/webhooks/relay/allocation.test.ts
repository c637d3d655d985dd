import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { allocate, type LaneRoom, START_OF_ROTATION } from '../../../src/webhooks/relay/allocation.ts';

const lane = (tenantId: string, name: string, room = 100): LaneRoom => ({ tenantId, lane: name, room });
const share = (input: Partial<Parameters<typeof allocate>[0]> & { lanes: LaneRoom[] }) =>
  allocate({ free: 100, tenantRoom: () => 100, quantum: 4, rotation: START_OF_ROTATION, ...input });

const quotas = (grants: { lane: string; quota: number }[]) =>
  Object.fromEntries(grants.map(({ lane: name, quota }) => [name, quota]));

describe('sharing slots out', () => {
  it('gives a tenant with one lane as much as a tenant with many', () => {
    const lanes = [
      ...Array.from({ length: 50 }, (_, n) => lane('a', `a${String(n).padStart(2, '0')}`)),
      lane('b', 'b'),
    ];
    const { grants } = share({ lanes, free: 40 });
    expect(quotas(grants).b).toBe(20);
  });

  it('goes on behind the tenant and the lane that it served last', () => {
    const lanes = [lane('a', 'a1'), lane('a', 'a2'), lane('b', 'b1'), lane('c', 'c1')];
    let rotation = START_OF_ROTATION;
    const served: string[] = [];
    for (let round = 0; round < 6; round += 1) {
      const result = share({ lanes, free: 4, rotation });
      rotation = result.rotation;
      served.push(...result.grants.map((grant) => grant.lane));
    }
    expect(served).toEqual(['a1', 'b1', 'c1', 'a2', 'b1', 'c1']);
  });

  it('keeps to the room of each lane and each tenant', () => {
    const { grants } = share({
      lanes: [lane('a', 'a1', 3), lane('a', 'a2', 50), lane('b', 'b1', 0), lane('c', 'c1', 9)],
      tenantRoom: (tenant) => (tenant === 'a' ? 10 : 6),
    });
    expect(quotas(grants)).toEqual({ a1: 3, a2: 7, c1: 6 });
  });

  it('never gives more than there is, and never leaves a slot that somebody could use', () => {
    const lanes = fc.uniqueArray(
      fc.record({
        tenantId: fc.constantFrom('a', 'b', 'c'),
        lane: fc.string({ minLength: 1, maxLength: 4 }),
        room: fc.integer({ min: 0, max: 20 }),
      }),
      { selector: (each) => each.lane, maxLength: 30 },
    );
    fc.assert(
      fc.property(
        lanes,
        fc.integer({ min: 0, max: 80 }),
        fc.integer({ min: 0, max: 30 }),
        fc.integer({ min: 1, max: 8 }),
        (rooms, free, tenantRoom, quantum) => {
          const { grants } = share({ lanes: rooms, free, tenantRoom: () => tenantRoom, quantum });
          const given = grants.reduce((sum, { quota }) => sum + quota, 0);
          const roomOf = new Map(rooms.map((each) => [each.lane, each.room]));
          for (const grant of grants) {
            expect(grant.quota).toBeGreaterThan(0);
            expect(grant.quota).toBeLessThanOrEqual(roomOf.get(grant.lane) ?? 0);
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
