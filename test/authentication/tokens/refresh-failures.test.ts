// What a refused refresh leaves behind: who tried it, with which key, from where, and why.
import { describe, expect, it } from 'vitest';
import { newId } from '../../../src/platform/database/ids.ts';
import { createRooms, readAudit, readEvents } from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createAccounts } from './accounts.ts';
import { codeOf, createHolder, refresh } from './refresh-fixture.ts';

const test = await useTestDatabase();
const accounts = createAccounts(test.database, { refreshFailures: 3 });
const rooms = createRooms(test.database, { accounts });

const failuresOf = async (tenantId: string) => ({
  audit: (await readAudit(test.database, tenantId)).filter(({ action }) => action === 'auth.login.failure'),
  events: (await readEvents(test.database, tenantId)).filter(({ type }) => type === 'auth.login.failure'),
});

describe('a refused refresh', () => {
  it('is in the audit log each time, and as an event once a minute', async () => {
    const { context, agent, key, refreshToken } = await createHolder(rooms);
    expect(await codeOf(refresh(rooms, context, refreshToken, { scope: 'vault:read' }))).toBe(
      'invalid_scope',
    );
    expect(await codeOf(refresh(rooms, context, refreshToken, { scope: 'vault:read' }))).toBe(
      'invalid_scope',
    );
    await rooms.agents.suspend(context, agent.id);
    const late = { ...context, requestId: newId() };
    expect(await codeOf(refresh(rooms, late, refreshToken))).toBe('invalid_grant');
    const { audit, events } = await failuresOf(context.tenant.id);
    const facts = {
      outcome: 'failure',
      target_id: agent.id,
      key_id: key.id,
      address: context.address,
      data: { method: 'refresh_token', stage: 'refresh', key_fingerprint: key.fingerprint },
    };
    expect(audit).toMatchObject([
      { ...facts, reason: 'invalid_scope', request_id: context.requestId },
      { ...facts, reason: 'invalid_scope' },
      { ...facts, reason: 'invalid_grant', request_id: late.requestId },
    ]);
    expect(events.map(({ data }) => data)).toMatchObject([
      { agent_id: agent.id, method: 'refresh_token', reason: 'invalid_scope', count: 1 },
      { agent_id: agent.id, method: 'refresh_token', reason: 'invalid_grant', count: 1 },
    ]);
  });

  it('goes on being answered as what it is when it is not written any more', async () => {
    const { context, key, agent, refreshToken } = await createHolder(rooms);
    await rooms.keys.revoke(context, agent.id, key.id);
    for (let count = 0; count < 6; count += 1)
      expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('invalid_grant');
    expect((await failuresOf(context.tenant.id)).audit).toHaveLength(3);
  });

  it('of a deleted agent is on record although its key is gone', async () => {
    const { context, agent, key, refreshToken } = await createHolder(rooms);
    await rooms.agents.remove(context, agent.id);
    expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('invalid_grant');
    expect((await failuresOf(context.tenant.id)).audit).toMatchObject([
      { key_id: key.id, target_id: agent.id, reason: 'invalid_grant' },
    ]);
  });

  it('with a token that nobody knows leaves nothing', async () => {
    const { context } = await createHolder(rooms);
    expect(await codeOf(refresh(rooms, context, 'unknown'))).toBe('invalid_grant');
    expect(await failuresOf(context.tenant.id)).toEqual({ audit: [], events: [] });
  });
});
