// How many anchors there may be, however many requests come together.
import { afterAll, expect, it } from 'vitest';
import { useTestDatabase } from '../../setup/database.ts';
import { createRooms, createTestTenant } from '../agents/agent-rooms.ts';

const { database } = await useTestDatabase();
const rooms = createRooms(database);
afterAll(() => rooms.verifier.close());

/**
 * @returns how many were made, and the codes of those that were refused; one that found the database busy asks again
 */
async function settle(asks: readonly (() => Promise<unknown>)[]) {
  const insist = async (ask: () => Promise<unknown>): Promise<unknown> =>
    ask().catch((error) => {
      if (error.code !== 'temporarily_unavailable') throw error;
      return insist(ask);
    });
  const results = await Promise.allSettled(asks.map(insist));
  const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason.code] : []));
  return { made: results.length - refused.length, refused: [...new Set(refused)] };
}

it('an agent has 50, of sixty that are asked for together', async () => {
  const context = await createTestTenant(rooms);
  const { id } = await rooms.agents.create(context, { name: 'Robot' });
  const asks = Array.from(
    { length: 60 },
    (_, n) => () => rooms.anchors.create(context, id, { type: 'domain_dns', value: `d${n}.example` }),
  );
  expect(await settle(asks)).toEqual({ made: 50, refused: ['conflict'] });
});

it('a tenant has 1,000, less those whose time is over, and another tenant its own', async () => {
  const [context, other] = [await createTestTenant(rooms), await createTestTenant(rooms)];
  const create = async (from: typeof context) => {
    const { id } = await rooms.agents.create(from, { name: 'Robot' });
    return { id, ask: () => rooms.anchors.create(from, id, { type: 'domain_dns', value: 'a.example' }) };
  };
  const agents = await Promise.all(Array.from({ length: 6 }, () => create(context)));
  await database.query(
    `INSERT INTO anchors (id, tenant_id, agent_id, type, value, proof, expires_at, next_check_at)
     SELECT gen_random_uuid(), $1, $2, 'domain_dns', 'd' || n || '.example', 'x', now() + CASE WHEN n <= 998 THEN interval '1 day' ELSE interval '0' END, now()
     FROM generate_series(1, 1100) n`,
    [context.tenant.id, (await create(context)).id],
  );
  expect(await settle(agents.map(({ ask }) => ask))).toEqual({ made: 2, refused: ['conflict'] });
  expect(await (await create(other)).ask()).toMatchObject({ status: 'pending' });
});

it('creating anchors while their agent is deleted comes to an end', async () => {
  const context = await createTestTenant(rooms);
  const { id } = await rooms.agents.create(context, { name: 'Robot' });
  const ask = (n: number) =>
    rooms.anchors.create(context, id, { type: 'domain_dns', value: `d${n}.example` });
  const { refused } = await settle([
    ...Array.from({ length: 10 }, (_, n) => () => ask(n)),
    () => rooms.agents.remove(context, id),
    ...Array.from({ length: 10 }, (_, n) => () => ask(10 + n)),
  ]);
  expect(refused.filter((code) => code !== 'not_found')).toEqual([]);
  const { rowCount } = await database.query(
    `SELECT 1 FROM anchors WHERE agent_id = $1 AND status IN ('pending', 'verified')`,
    [id],
  );
  expect(rowCount).toBe(0);
});
