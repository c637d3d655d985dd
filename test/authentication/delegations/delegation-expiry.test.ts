// What time makes due for a delegation: the decision alone, and the steps over a real database.
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { decideDelegationStep, statusOf } from '../../../src/authentication/delegations/delegation-expiry.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createTestAgent, createTestTenant, readAudit } from '../../identity/agents/agent-rooms.ts';
import { createTestDatabase } from '../../setup/database.ts';
import { createDelegationRooms, type DelegationRooms } from './delegation-rooms.ts';

const NOW = new Date('2026-11-21T18:00:00Z');
const HOUR = 3_600_000;
const ALIVE = { expiresAt: new Date(NOW.getTime() + HOUR), expiredAt: null, revokedAt: null, now: NOW };

describe('a delegation', () => {
  it.each([
    ['waits for its end', {}, { kind: 'wait', delayMs: HOUR }, 'active'],
    [
      'waits a day at most',
      { expiresAt: new Date('2027-11-21') },
      { kind: 'wait', delayMs: 24 * HOUR },
      'active',
    ],
    ['expires at its very end', { expiresAt: NOW }, { kind: 'expire' }, 'expired'],
    ['is over when its end is written down', { expiresAt: NOW, expiredAt: NOW }, { kind: 'end' }, 'expired'],
    ['is over when it is revoked', { revokedAt: NOW }, { kind: 'end' }, 'revoked'],
    ['that was revoked does not expire', { expiresAt: NOW, revokedAt: NOW }, { kind: 'end' }, 'revoked'],
  ] as const)('%s', (_, facts, step, status) => {
    expect(decideDelegationStep({ ...ALIVE, ...facts })).toEqual(step);
    expect(statusOf({ ...ALIVE, ...facts })).toBe(status);
  });

  it('is waited for until its end and no longer, whatever its length', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 366 * 24 * HOUR }), (length) => {
        const expiresAt = new Date(NOW.getTime() + length);
        let now = NOW;
        for (;;) {
          const step = decideDelegationStep({ ...ALIVE, expiresAt, now });
          if (step.kind !== 'wait') return step.kind === 'expire' && now.getTime() === expiresAt.getTime();
          now = new Date(now.getTime() + step.delayMs);
        }
      }),
      { numRuns: 50 },
    );
  });
});

describe('its end', () => {
  let database: Database;
  let rooms: DelegationRooms;
  let context: RequestContext;
  let drop: () => Promise<void>;
  beforeAll(async () => {
    ({ database, drop } = await createTestDatabase());
    rooms = createDelegationRooms(database);
    context = await createTestTenant(rooms);
  });
  afterAll(async () => {
    await rooms.verifier.close();
    await drop();
  });

  const create = async (scopes = ['openid']) => {
    const { agent } = await createTestAgent(rooms, context);
    const subject = { issuer: 'https://idp.example', sub: newId() };
    const expiresAt = new Date(Date.now() + HOUR);
    const { id } = await rooms.delegations.create(context, { subject, agentId: agent.id, scopes, expiresAt });
    return { name: { tenantId: context.tenant.id, id }, agentId: agent.id };
  };
  const commands = async (id: string) => {
    const { rows } = await database.query<{ workflow: string }>(
      'SELECT workflow FROM workflow_commands WHERE entity_id = $1',
      [id],
    );
    return rows.map(({ workflow }) => workflow);
  };
  const endNow = (id: string) =>
    database.query('UPDATE delegations SET expires_at = now() WHERE id = $1', [id]);
  const lines = async (id: string) =>
    (await readAudit(database, context.tenant.id))
      .filter(({ target_id }) => target_id === id)
      .map(({ action }) => action);

  it('has a workflow from the transaction that makes it, and none where that fails', async () => {
    const { name } = await create();
    expect(await commands(name.id)).toEqual(['delegationExpiry']);
    await database.query('DELETE FROM workflow_commands');
    await expect(create(['unheard:of'])).rejects.toMatchObject({ code: 'invalid_request' });
    const { rows } = await database.query('SELECT 1 FROM workflow_commands');
    expect(rows).toEqual([]);
  });

  it('is not written down before it has come, and once when it is asked for many times', async () => {
    const { name } = await create();
    expect(await rooms.delegationExpiry.expire(name)).toMatchObject({
      status: 'active',
      step: { kind: 'wait' },
    });
    await endNow(name.id);
    const answers = await Promise.all([1, 2, 3, 4].map(() => rooms.delegationExpiry.expire(name)));
    for (const answer of answers) expect(answer).toMatchObject({ status: 'expired', step: { kind: 'end' } });
    expect(await lines(name.id)).toEqual(['delegation.created', 'delegation.expired']);
  });

  it('is either a revocation or an expiry when both come together', async () => {
    for (let n = 0; n < 5; n += 1) {
      const { name } = await create();
      await endNow(name.id);
      await Promise.all([rooms.delegationExpiry.expire(name), rooms.delegations.revoke(context, name.id)]);
      // A revocation of what has expired is recorded too; an expiry of what is revoked is not.
      expect((await rooms.delegations.get(context, name.id)).status).toBe('revoked');
      const [, ...ends] = await lines(name.id);
      expect([['delegation.revoked'], ['delegation.expired', 'delegation.revoked']]).toContainEqual(ends);
    }
  });

  it('comes with the deletion of its agent, of which its workflow is told', async () => {
    const { name, agentId } = await create();
    await database.query('DELETE FROM workflow_commands');
    await rooms.agents.remove(context, agentId);
    expect(await commands(name.id)).toEqual(['delegationExpiry']);
    expect(await rooms.delegationExpiry.look(name)).toMatchObject({
      status: 'revoked',
      step: { kind: 'end' },
    });
    await expect(rooms.delegationExpiry.revokeByOperator(name)).rejects.toMatchObject({ code: 'conflict' });
  });

  it('of what is not there is nothing to do', async () => {
    const name = { tenantId: context.tenant.id, id: newId() };
    expect(await rooms.delegationExpiry.look(name)).toEqual({
      status: 'gone',
      step: { kind: 'end' },
      expiresAt: null,
    });
    expect(await rooms.delegationExpiry.describe(name)).toBeUndefined();
    await expect(rooms.delegationExpiry.revokeByOperator(name)).rejects.toMatchObject({ code: 'not_found' });
  });
});
