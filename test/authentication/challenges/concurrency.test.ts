// Races: one success for one challenge, whatever the number of processes; and what a revocation or suspension meets
// halfway.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { createRooms, createTestAgent, createTestTenant } from '../../identity/agents/agent-rooms.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { countLockWaits } from '../../setup/lock-waits.ts';
import { answer, ask } from './answer.ts';

let context: RequestContext;

const { database, url } = await useTestDatabase();
const second = createPatientDatabase({ url, pool: 10, applicationName: 'test-second' });
const rooms = createRooms(database);
// The same issuer keys; everything else, above all the connections, is another process's.
const elsewhere = createRooms(second, { accounts: { ...rooms, database: second } });
beforeEach(async () => {
  context = await createTestTenant(rooms);
});
afterAll(() => second.close());

const tokensOf = async (agentId: string) => {
  const { rows } = await rooms.database.query<{ live: number; all: number }>(
    `SELECT count(*) FILTER (WHERE revoked_at IS NULL)::int AS live, count(*)::int AS all
     FROM refresh_tokens WHERE agent_id = $1`,
    [agentId],
  );
  return rows[0];
};

describe('one hundred simultaneous correct verifications of one challenge, through two processes', () => {
  it('make exactly one success; the others get challenge_used', async () => {
    const agent = await createTestAgent(rooms, context);
    const input = answer(await ask(rooms, context, agent.fingerprint), agent);
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        (n % 2 === 0 ? rooms : elsewhere).challenges.verify(context, input).then(
          () => 'success',
          (error: { code?: string }) => error.code ?? String(error),
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'success')).toHaveLength(1);
    expect(outcomes.filter((outcome) => outcome === 'challenge_used')).toHaveLength(99);
    expect(await tokensOf(agent.agent.id)).toEqual({ live: 1, all: 1 });
  });

  it('of different challenges of one key all succeed, and verify the key once', async () => {
    const agent = await createTestAgent(rooms, context);
    const inputs = await Promise.all(
      Array.from({ length: 40 }, async () => answer(await ask(rooms, context, agent.fingerprint), agent)),
    );
    await Promise.all(
      inputs.map((input, n) => (n % 2 === 0 ? rooms : elsewhere).challenges.verify(context, input)),
    );
    const { rows } = await rooms.database.query<{ verified: number }>(
      "SELECT count(*)::int AS verified FROM audit_log WHERE action = 'agent.key.verified' AND target_id = $1",
      [agent.key.id],
    );
    expect(rows).toEqual([{ verified: 1 }]);
  });
});

/** What may happen while a verification is under way, and the code of a verification that came second. */
const ENDINGS = [
  ['revocation of the key', 'key_revoked', 'revoke'],
  ['suspension of the agent', 'policy_denied', 'suspend'],
  ['deletion of the agent', 'key_not_found', 'remove'],
] as const;

describe.each(ENDINGS)('a %s in the middle of verifications', (_, code, action) => {
  const end = async (agentId: string, keyId: string) => {
    if (action === 'revoke') await elsewhere.keys.revoke(context, agentId, keyId);
    else await elsewhere.agents[action](context, agentId);
  };

  it('leaves no refresh token alive, and no answer but a success or its own code', async () => {
    for (let round = 0; round < 5; round++) {
      const agent = await createTestAgent(rooms, context);
      const inputs = await Promise.all(
        Array.from({ length: 16 }, async () => answer(await ask(rooms, context, agent.fingerprint), agent)),
      );
      const outcomes = await Promise.all([
        ...inputs.map((input) =>
          rooms.challenges.verify(context, input).then(
            () => 'success',
            (error: { code?: string }) => error.code ?? String(error),
          ),
        ),
        end(agent.agent.id, agent.key.id).then(() => 'ended'),
      ]);
      expect(['success', 'ended', code]).toEqual(expect.arrayContaining([...new Set(outcomes)]));
      expect(await tokensOf(agent.agent.id)).toMatchObject({ live: 0 });
    }
  });

  it('is waited for by a verification that meets it, which then names it as the cause', async () => {
    const agent = await createTestAgent(rooms, context);
    const input = answer(await ask(rooms, context, agent.fingerprint), agent);
    const verification = await second.transaction({}, async (transaction) => {
      const joined = { ...context, transaction };
      if (action === 'revoke') await elsewhere.keys.revoke(joined, agent.agent.id, agent.key.id);
      else await elsewhere.agents[action](joined, agent.agent.id);
      // It reads the state of before, finds nothing wrong with it, and comes to the locks.
      const promise = rooms.challenges.verify(context, input).catch((error: unknown) => error);
      await waitForLock();
      return { promise };
    });
    expect(await verification.promise).toMatchObject({ code });
    expect(await tokensOf(agent.agent.id)).toMatchObject({ live: 0 });
  });
});

const waitForLock = () => expect.poll(() => countLockWaits(second)).toBeGreaterThan(0);
