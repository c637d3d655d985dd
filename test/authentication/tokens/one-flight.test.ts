// Uses of one refresh token run one after the other in a process, so that they do not wait for its row on many
// connections.
import { afterAll, expect, it } from 'vitest';
import { MOST_REPEATS } from '../../../src/authentication/tokens/refresh-token.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createRooms } from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createHolder, refresh } from './refresh-fixture.ts';

const { database } = await useTestDatabase();
const active = new Map<string | undefined, number>();
let most = 0;
const watched: Database = {
  ...database,
  transaction: async (context, work) => {
    const owner = context.tenant?.id;
    active.set(owner, (active.get(owner) ?? 0) + 1);
    most = Math.max(most, active.get(owner) ?? 0);
    try {
      return await database.transaction(context, work);
    } finally {
      active.set(owner, (active.get(owner) ?? 0) - 1);
    }
  },
};
const rooms = createRooms(watched);
afterAll(() => rooms.verifier.close());

it('many uses of one token need one connection, and get one successor', async () => {
  const { context, refreshToken } = await createHolder(rooms);
  most = 0;
  const uses = await Promise.allSettled(
    Array.from({ length: 30 }, () => refresh(rooms, context, refreshToken)),
  );
  const answers = uses.flatMap((use) => (use.status === 'fulfilled' ? [use.value.refresh_token] : []));
  expect(answers).toHaveLength(1 + MOST_REPEATS);
  expect(new Set(answers).size).toBe(1);
  expect(most).toBe(1);
  // Each counts to the tenant, which has a share of all transactions.
  expect(active.get(context.tenant.id)).toBe(0);
});
