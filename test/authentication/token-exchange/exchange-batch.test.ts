// Exchanges of many requests in one transaction: each has its own outcome, and none waits for a change that another one
// meets.
import { afterAll, describe, expect, it, vi } from 'vitest';
import { readAudit } from '../../identity/agents/agent-rooms.ts';
import { countLockWaits } from '../../setup/lock-waits.ts';
import { useAccountsServer } from '../tokens/accounts-server.ts';
import { createWorld, startProvider } from './exchange-fixture.ts';

const { test, server } = await useAccountsServer();

const provider = await startProvider();
const world = await createWorld(server, provider);
afterAll(() => provider.close());

/** A user, and an agent to which the user has delegated. */
async function newPair(input: { scopes?: readonly string[] } = {}) {
  const [user, actor] = await Promise.all([world.newUser(), world.newActor()]);
  const { id } = await world.delegate(user, actor.agent.id, input);
  return { user, actor, id };
}

const countIssued = async () =>
  (await readAudit(test.database, world.tenant.id)).filter(
    ({ action, data }) =>
      action === 'auth.token.issued' && (data as { method?: string }).method === 'token_exchange',
  ).length;

describe('concurrent exchanges', () => {
  it('are recorded together, and each is decided by itself', async () => {
    const good = await Promise.all(Array.from({ length: 20 }, () => newPair()));
    const [narrow, revoked, ended] = await Promise.all([
      newPair({ scopes: ['openid'] }),
      newPair(),
      newPair(),
    ]);
    await world.rooms.delegations.revoke(world.context, revoked.id);
    await test.database.query(
      "INSERT INTO revocations (tenant_id, token_id, expires_at) VALUES ($1, $2, now() + interval '1 hour')",
      [world.tenant.id, ended.actor.tokenId],
    );
    const stranger = { user: await world.newUser(), actor: await world.newActor() };
    const before = await countIssued();
    const transaction = vi.spyOn(test.database, 'transaction');
    const ask = ({ user, actor }: Pick<typeof narrow, 'user' | 'actor'>) =>
      world.outcome(user.token, actor, { scope: 'openid email' });
    const outcomes = await Promise.all([narrow, revoked, ended, stranger, ...good].map(ask));
    const transactions = transaction.mock.calls.length;
    transaction.mockRestore();
    expect(outcomes).toEqual([
      '400 invalid_scope',
      '400 invalid_grant',
      '400 invalid_request',
      '400 invalid_grant',
      ...good.map(() => 'accepted'),
    ]);
    expect(await countIssued()).toBe(before + good.length);
    expect(transactions).toBeLessThan(good.length);
  });

  it('of other agents do not wait for a suspension under way, which the own one does', async () => {
    const [suspended, ...others] = await Promise.all(Array.from({ length: 5 }, () => newPair()));
    if (suspended === undefined) throw new Error('no pair');
    let behind: Promise<string> = Promise.resolve('');
    await test.database.transaction({}, async (transaction) => {
      await world.rooms.agents.suspend({ ...world.context, transaction }, suspended.actor.agent.id);
      behind = world.outcome(suspended.user.token, suspended.actor);
      const ahead = others.map(({ user, actor }) => world.outcome(user.token, actor));
      expect(await Promise.all(ahead)).toEqual(others.map(() => 'accepted'));
      await expect.poll(() => countLockWaits(test.database)).toBeGreaterThan(0);
    });
    expect(await behind).toBe('403 policy_denied');
  });

  it('whose commit got no answer are recorded once, with the tokens that are answered then', async () => {
    const pairs = await Promise.all(Array.from({ length: 3 }, () => newPair()));
    const before = await countIssued();
    const { transaction } = test.database;
    const spy = vi.spyOn(test.database, 'transaction').mockImplementationOnce(async (context, work) => {
      await transaction(context, work);
      throw Object.assign(new Error('read ECONNRESET'), { code: 'ECONNRESET' });
    });
    const answers = await Promise.all(pairs.map(({ user, actor }) => world.exchange(user.token, actor)));
    spy.mockRestore();
    expect(await countIssued()).toBe(before + pairs.length);
    const recorded = (await readAudit(test.database, world.tenant.id)).map(({ token_id: id }) => id);
    expect(recorded).toEqual(expect.arrayContaining(answers.map(({ claims }) => claims.jti)));
  });
});
