// Room that tenants and clients share: nobody has more than a share, and some is left for those that come later.
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createRoom } from '../../src/platform/room.ts';

const BOUNDS = { client: 40, tenant: 60, process: 200 };

/** Takes units one at a time until there is no room. @returns how many */
function fill(room: ReturnType<typeof createRoom>, tenant: string, client: string): number {
  for (let n = 0; ; n += 1) if (room.take({ tenant, client }, 1) === undefined) return n;
}

it('a client has at most its bound, a tenant its own, and one alone needs to leave nothing', () => {
  const room = createRoom(BOUNDS);
  expect(fill(room, 'a', 'one')).toBe(40);
  expect(room.fullFor({ tenant: 'a', client: 'one' })).toBe('client');
  expect(fill(room, 'a', 'two')).toBeGreaterThan(10);
  expect(room.held()).toBeLessThanOrEqual(60);
});

it('four tenants of two clients that take all they get leave room for a fifth', () => {
  const room = createRoom({ client: 8_192, tenant: 16_384, process: 65_536 });
  for (const tenant of ['a', 'b', 'c', 'd'])
    for (const client of ['one', 'two']) expect(fill(room, tenant, client)).toBeGreaterThan(0);
  expect(room.held()).toBeLessThan(65_536);
  expect(fill(room, 'quiet', 'one')).toBeGreaterThan(1_000);
});

it('the last units of an owner may be more than it has left, and work that was done takes room in any case', () => {
  const room = createRoom(BOUNDS);
  const of = { tenant: 'a', client: 'one' };
  const giveBack = room.take(of, 500) ?? expect.fail();
  expect(room.take(of, 1)).toBeUndefined();
  room.hold(of, 7);
  expect(room.held()).toBe(507);
  giveBack();
  giveBack();
  expect(room.held()).toBe(7);
});

it('whatever order room is taken and given back in, the sums are those of what is held', () => {
  const name = fc.constantFrom('a', 'b', 'c');
  const step = fc.record({ tenant: name, client: name, units: fc.nat(40), returned: fc.nat(5) });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const room = createRoom(BOUNDS);
      const held: { tenant: string; client: string; units: number; giveBack: () => void }[] = [];
      const sum = (of: Partial<{ tenant: string; client: string }>): number =>
        held
          .filter(
            (one) => (of.tenant ?? one.tenant) === one.tenant && (of.client ?? one.client) === one.client,
          )
          .reduce((total, { units }) => total + units, 0);
      for (const { tenant, client, units, returned } of steps) {
        const ofTenant = sum({ tenant });
        const fits =
          ofTenant < Math.min(60, 200 - sum({})) &&
          sum({ tenant, client }) < Math.min(40, 4 * (60 - ofTenant));
        expect(room.fullFor({ tenant, client }) === undefined).toBe(fits);
        const giveBack = room.take({ tenant, client }, units);
        expect(giveBack !== undefined).toBe(fits);
        if (giveBack !== undefined) held.push({ tenant, client, units, giveBack });
        expect(room.held()).toBe(sum({}));
        for (const { giveBack: back } of held.splice(0, returned)) back();
      }
    }),
  );
});
