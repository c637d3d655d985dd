// Refresh tokens of tenants without a subscription: concurrent uses share one statement, and none harms another.

import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect, it } from 'vitest';
import { rotateTogether } from '../../../src/authentication/tokens/refresh-rotation.store.ts';
import { MOST_REPEATS } from '../../../src/authentication/tokens/refresh-token.ts';
import { HOLDER_VERSION } from '../../../src/identity/keys/key.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { readAudit, readEvents } from '../../identity/agents/agent-rooms.ts';
import { refuseLaterUses } from '../../platform/database/times-of-uses.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';
import { claimsOf, codeOf, createHolder, createTwoProcesses, refresh } from './refresh-fixture.ts';

const processes = await createTwoProcesses();
const rooms = processes.one;
afterAll(() => processes.drop());

/** A holder whose tenant has no subscription. */
async function createUnheard() {
  const holder = await createHolder(rooms);
  await processes.database.query('UPDATE subscriptions SET deleted_at = now() WHERE tenant_id = $1', [
    holder.context.tenant.id,
  ]);
  return holder;
}

const issuedOf = async (tenantId: string) =>
  (await readAudit(processes.database, tenantId)).filter(({ action }) => action === 'auth.token.issued');

describe('a refresh token whose events no subscription gets', () => {
  it('is exchanged with its record and without an event, again and again', async () => {
    const { context, agent, key, refreshToken } = await createUnheard();
    const before = (await readEvents(processes.database, context.tenant.id)).length;
    const first = await refresh(rooms, context, refreshToken);
    const second = await refresh(rooms, context, first.refresh_token, { scope: 'openid' });
    expect(second).toMatchObject({ token_type: 'Bearer', scope: 'openid' });
    expect(await issuedOf(context.tenant.id)).toMatchObject(
      [first, second].map(({ access_token }) => ({
        actor_id: agent.id,
        target_id: agent.id,
        key_id: key.id,
        token_id: claimsOf(access_token).jti,
        data: { method: 'refresh_token' },
      })),
    );
    expect(await readEvents(processes.database, context.tenant.id)).toHaveLength(before);
    const { rows } = await processes.database.query<{ scopes: string[]; used: boolean; ids: string[] }>(
      `SELECT scopes, used_at IS NOT NULL AS used, access_token_ids AS ids FROM refresh_tokens WHERE tenant_id = $1 ORDER BY id`,
      [context.tenant.id],
    );
    expect(rows).toMatchObject([
      { used: true },
      { used: true, ids: [claimsOf(first.access_token).jti] },
      { used: false, ids: [claimsOf(second.access_token).jti], scopes: ['email', 'openid'] },
    ]);
  });

  it('is used by many at the same time, each its own; a suspended agent is refused among them', async () => {
    const holders = await Promise.all(Array.from({ length: 20 }, createUnheard));
    const suspended = holders[7];
    if (suspended === undefined) throw new Error('no holder');
    await processes.database.query("UPDATE agents SET status = 'suspended' WHERE id = $1", [
      suspended.agent.id,
    ]);
    const codes = await Promise.all(
      holders.map(({ context, refreshToken }) => codeOf(refresh(rooms, context, refreshToken))),
    );
    expect(codes).toEqual(holders.map((holder) => (holder === suspended ? 'invalid_grant' : 'accepted')));
    for (const { context } of holders.filter((holder) => holder !== suspended))
      expect(await issuedOf(context.tenant.id)).toHaveLength(1);
    expect(await issuedOf(suspended.context.tenant.id)).toHaveLength(0);
  });

  it('by 100 at the same time in two processes: one rotates, and the repeats that are allowed get that successor', async () => {
    const { context, refreshToken } = await createUnheard();
    const uses = await Promise.allSettled(
      Array.from({ length: 100 }, (_, index) =>
        refresh(index % 2 ? processes.one : processes.two, context, refreshToken),
      ),
    );
    const answers = uses.flatMap((use) => (use.status === 'fulfilled' ? [use.value.refresh_token] : []));
    expect(answers).toHaveLength(1 + MOST_REPEATS);
    expect(new Set(answers).size).toBe(1);
    expect(await issuedOf(context.tenant.id)).toHaveLength(1 + MOST_REPEATS);
    const { rows } = await processes.database.query<{ count: number; ids: number }>(
      `SELECT count(*)::int AS count, sum(cardinality(access_token_ids))::int AS ids FROM refresh_tokens WHERE tenant_id = $1`,
      [context.tenant.id],
    );
    expect(rows).toEqual([{ count: 2, ids: 2 + MOST_REPEATS }]);
  });

  it('waits for a suspension under way, and is refused after it; others do not wait', async () => {
    const [waiting, other] = [await createUnheard(), await createUnheard()];
    let refused: Promise<string> | undefined;
    await processes.database.transaction({}, async (unit) => {
      await unit.query('SELECT 1 FROM agents WHERE id = $1 FOR UPDATE', [waiting.agent.id]);
      await unit.query("UPDATE agents SET status = 'suspended' WHERE id = $1", [waiting.agent.id]);
      refused = codeOf(refresh(rooms, waiting.context, waiting.refreshToken));
      expect(await codeOf(refresh(rooms, other.context, other.refreshToken))).toBe('accepted');
    });
    expect(await refused).toBe('invalid_grant');
    expect(await issuedOf(waiting.context.tenant.id)).toHaveLength(0);
  });

  it('is not used after the sunset of its key, however late the statement comes to it', async () => {
    const { context, key } = await createUnheard();
    const { rows } = await processes.database.query<{ id: string }>(
      'SELECT id FROM refresh_tokens WHERE tenant_id = $1',
      [context.tenant.id],
    );
    const successor = { id: newId(), hash: randomBytes(32), audience: 'https://a.example', jkt: undefined };
    const rotation = { tokenId: rows[0]?.id ?? '', request: randomBytes(32), audit: [] };
    const made = await processes.database.transaction({}, async (unit) => {
      // now() stays the beginning of this transaction.
      await unit.query('SELECT now()');
      await processes.database.query(
        "UPDATE agent_keys SET state = 'deprecated', deprecated_at = now(), sunset_at = clock_timestamp() + interval '20 ms' WHERE id = $1",
        [key.id],
      );
      await unit.query('SELECT pg_sleep(0.05)');
      const read = await unit.query<{ version: string }>(
        `SELECT ${HOLDER_VERSION} AS version FROM agent_keys k JOIN agents a ON a.id = k.agent_id WHERE k.id = $1`,
        [key.id],
      );
      const version = read.rows[0]?.version ?? '';
      return rotateTogether(unit, [
        { ...rotation, version, successor: { ...successor, accessTokenId: newId() } },
      ]);
    });
    expect(made).toEqual([false]);
  });

  it('is noted as used at a time that has passed, alone and with others', async () => {
    await refuseLaterUses(processes.database, 'refresh_tokens', 'used_at');
    for (const { context, refreshToken } of [await createUnheard(), await createHolder(rooms)]) {
      let next = refreshToken;
      for (let use = 0; use < 60; use += 1) next = (await refresh(rooms, context, next)).refresh_token ?? '';
    }
  });

  it('leaves nothing alive when a theft and a rotation meet', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { context, refreshToken } = await createUnheard();
      const { refresh_token: next } = await refresh(rooms, context, refreshToken);
      await processes.database.query(
        "UPDATE refresh_tokens SET used_at = used_at - interval '1 minute' WHERE tenant_id = $1 AND used_at IS NOT NULL",
        [context.tenant.id],
      );
      const [rotated] = await Promise.all([
        refresh(rooms, context, next).catch(() => undefined),
        codeOf(refresh(processes.two, context, refreshToken)),
      ]);
      const { rows } = await processes.database.query<{ live: number }>(
        'SELECT count(*)::int AS live FROM refresh_tokens WHERE tenant_id = $1 AND revoked_at IS NULL',
        [context.tenant.id],
      );
      expect(rows).toEqual([{ live: 0 }]);
      if (rotated !== undefined)
        expect(await codeOf(rooms.tokens.verifyAccessToken(context.tenant, rotated.access_token))).toBe(
          'token_revoked',
        );
    }
  });

  it('has an event from the first use after somebody subscribed', async () => {
    const { context, refreshToken } = await createUnheard();
    const first = await refresh(rooms, context, refreshToken);
    await insertSubscription(processes.database, context, { filters: ['*'] });
    const second = await refresh(rooms, context, first.refresh_token);
    expect((await readEvents(processes.database, context.tenant.id)).at(-1)).toMatchObject({
      type: 'auth.token.issued',
      data: { token_id: claimsOf(second.access_token).jti },
    });
  });
});
