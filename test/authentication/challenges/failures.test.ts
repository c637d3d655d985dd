// Failed authentications: which code, what is recorded although the answer is an error, and who is never refused.
import { beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import {
  createRooms,
  createTestAgent,
  createTestTenant,
  readAudit,
  readEvents,
} from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { requestTo } from '../tokens/accounts.ts';
import { answer, ask, forge } from './answer.ts';

let context: RequestContext;
let stranger: RequestContext;

const { database } = await useTestDatabase();
const rooms = createRooms(database);
const limited = createRooms(database, { failuresAllowed: 3, accounts: rooms });
beforeEach(async () => {
  context = await createTestTenant(rooms);
  stranger = requestTo(context.tenant, '198.51.100.9');
});

type TestAgent = Awaited<ReturnType<typeof createTestAgent>>;
const expire = (id: string) =>
  rooms.database.query("UPDATE challenges SET expires_at = now() - interval '1 second' WHERE id = $1", [id]);

/** Each spoils a fresh challenge, whose answer is then refused with the code. */
const TABLE: readonly [string, string, (agent: TestAgent, challengeId: string) => Promise<unknown>][] = [
  ['the challenge has expired', 'challenge_expired', (_, challengeId) => expire(challengeId)],
  [
    'the key is revoked in between',
    'key_revoked',
    ({ agent, key }) => rooms.keys.revoke(context, agent.id, key.id),
  ],
  [
    'the sunset of the key passes in between',
    'key_revoked',
    async ({ agent, key }) => {
      await rooms.keys.deprecate(context, agent.id, key.id, {});
      await rooms.database.query('UPDATE agent_keys SET sunset_at = now() WHERE id = $1', [key.id]);
    },
  ],
  [
    'the agent is suspended in between',
    'policy_denied',
    ({ agent }) => rooms.agents.suspend(context, agent.id),
  ],
  ['the agent is deleted in between', 'key_not_found', ({ agent }) => rooms.agents.remove(context, agent.id)],
  [
    'the scopes are narrowed in between',
    'invalid_scope',
    ({ agent }) => rooms.agents.update(context, agent.id, { scopes: ['email'] }),
  ],
];

describe('a verification is refused, and nothing is consumed or issued,', () => {
  it.each(TABLE)('when %s: %s', async (_, code, spoil) => {
    const agent = await createTestAgent(rooms, context);
    const challenge = await ask(rooms, context, agent.fingerprint);
    await spoil(agent, challenge.id);
    await expect(rooms.challenges.verify(context, answer(challenge, agent))).rejects.toMatchObject({ code });
    const { rows } = await rooms.database.query<{ consumed: boolean; tokens: number }>(
      `SELECT consumed_at IS NOT NULL AS consumed, (SELECT count(*)::int FROM refresh_tokens WHERE agent_id = $2) AS tokens
       FROM challenges WHERE id = $1`,
      [challenge.id, agent.agent.id],
    );
    expect(rows).toEqual([{ consumed: false, tokens: 0 }]);
  });

  it.each(['es256', 'ED25519', 'rs256', ''])('when the algorithm is "%s"', async (algorithm) => {
    const agent = await createTestAgent(rooms, context);
    const challenge = await ask(rooms, context, agent.fingerprint);
    const input = { ...answer(challenge, agent), algorithm };
    await expect(rooms.challenges.verify(context, input)).rejects.toMatchObject({ code: 'invalid_grant' });
  });

  it('when the challenge is unknown', async () => {
    const input = { challengeId: newId(), signature: 'AAAA', algorithm: 'ed25519' };
    await expect(rooms.challenges.verify(context, input)).rejects.toMatchObject({ code: 'invalid_grant' });
  });

  it('with challenge_used even after its end, once it was used', async () => {
    const agent = await createTestAgent(rooms, context);
    const challenge = await ask(rooms, context, agent.fingerprint);
    await rooms.challenges.verify(context, answer(challenge, agent));
    await expire(challenge.id);
    await expect(rooms.challenges.verify(context, answer(challenge, agent))).rejects.toMatchObject({
      code: 'challenge_used',
    });
  });
});

it('a day after its end, a used challenge is still told as used, and an unused one as expired', async () => {
  const agent = await createTestAgent(rooms, context);
  const [used, unused] = [
    await ask(rooms, context, agent.fingerprint),
    await ask(rooms, context, agent.fingerprint),
  ];
  await rooms.challenges.verify(context, answer(used, agent));
  await rooms.database.query(
    `UPDATE challenges SET created_at = created_at - interval '1 day', expires_at = now() - interval '86399 seconds',
       consumed_at = consumed_at - interval '1 day' WHERE tenant_id = $1`,
    [context.tenant.id],
  );
  for (const [challenge, code] of [
    [used, 'challenge_used'],
    [unused, 'challenge_expired'],
  ] as const)
    await expect(rooms.challenges.verify(context, answer(challenge, agent))).rejects.toMatchObject({ code });
});

describe('a challenge is refused', () => {
  it('for a key that is unknown, revoked or of a suspended agent, and for scopes beyond the agent', async () => {
    const agent = await createTestAgent(rooms, context, { scopes: ['openid'] });
    const code = (fingerprint: string, scope?: string) =>
      ask(rooms, context, fingerprint, scope).then(
        () => 'granted',
        (error: { code: string }) => error.code,
      );
    expect(await code('00'.repeat(32))).toBe('key_not_found');
    expect(await code(agent.fingerprint, 'openid email')).toBe('invalid_scope');
    expect(await code(agent.fingerprint, 'openid root')).toBe('invalid_scope');
    expect(await code(agent.fingerprint, ' ')).toBe('invalid_scope');
    expect(await code(agent.fingerprint)).toBe('granted');
    await rooms.agents.suspend(context, agent.agent.id);
    expect(await code(agent.fingerprint)).toBe('policy_denied');
    await rooms.agents.reactivate(context, agent.agent.id);
    await rooms.keys.revoke(context, agent.agent.id, agent.key.id);
    expect(await code(agent.fingerprint)).toBe('key_revoked');
    await rooms.agents.remove(context, agent.agent.id);
    expect(await code(agent.fingerprint)).toBe('key_revoked');
  });
});

describe('a failure is recorded', () => {
  const failuresOf = async (type: string) =>
    (await readEvents(rooms.database, context.tenant.id)).filter((event) => event.type === type);
  const auditOf = async (action: string) =>
    (await readAudit(rooms.database, context.tenant.id)).filter((entry) => entry.action === action);

  it('in the audit log each time, and as an event once a minute for each key and reason, with a count', async () => {
    const agent = await createTestAgent(rooms, context);
    const challenge = await ask(rooms, context, agent.fingerprint);
    const fail = () => rooms.challenges.verify(stranger, forge(challenge, agent)).catch(() => undefined);
    for (let n = 0; n < 4; n++) await fail();
    await rooms.challenges
      .verify(stranger, { ...answer(challenge, agent), algorithm: 'x' })
      .catch(() => undefined);
    const facts = { agent_id: agent.agent.id, key_id: agent.key.id, key_fingerprint: agent.fingerprint };
    expect(await failuresOf('auth.login.failure')).toEqual([
      {
        type: 'auth.login.failure',
        data: expect.objectContaining({ ...facts, reason: 'invalid_signature', count: 1 }),
      },
      {
        type: 'auth.login.failure',
        data: expect.objectContaining({ ...facts, reason: 'invalid_grant', count: 1 }),
      },
    ]);
    const audited = await readAudit(rooms.database, context.tenant.id);
    expect(audited.filter(({ outcome }) => outcome === 'failure')).toHaveLength(5);
    expect(audited.at(-2)).toMatchObject({
      action: 'auth.login.failure',
      reason: 'invalid_signature',
      actor_kind: 'anonymous',
      target_id: agent.agent.id,
      key_id: agent.key.id,
      address: '198.51.100.9',
      data: { stage: 'verify' },
    });
    await rooms.database.query("UPDATE rate_limits SET expire = 0 WHERE key LIKE 'authentication_failure:%'");
    await fail();
    expect((await failuresOf('auth.login.failure')).at(-1)?.data).toMatchObject({
      reason: 'invalid_signature',
      count: 4,
    });
  });

  it('and the use of a revoked key is told as suspicious, also only once a minute', async () => {
    const agent = await createTestAgent(rooms, context);
    await rooms.keys.revoke(context, agent.agent.id, agent.key.id);
    for (let n = 0; n < 3; n++) await ask(rooms, stranger, agent.fingerprint).catch(() => undefined);
    expect(await failuresOf('security.suspicious_activity')).toEqual([
      {
        type: 'security.suspicious_activity',
        data: expect.objectContaining({
          kind: 'revoked_key_used',
          key_id: agent.key.id,
          address: '198.51.100.9',
        }),
      },
    ]);
    expect(await failuresOf('auth.login.failure')).toHaveLength(1);
    expect(await auditOf('security.suspicious_activity')).toEqual([
      expect.objectContaining({
        outcome: 'failure',
        reason: 'key_revoked',
        target_id: agent.agent.id,
        key_id: agent.key.id,
        data: expect.objectContaining({ kind: 'revoked_key_used', count: 1 }),
      }),
    ]);
  });

  it('and ten wrong signatures of one key within a minute are told as brute force, once', async () => {
    const agent = await createTestAgent(rooms, context);
    const challenge = await ask(rooms, context, agent.fingerprint);
    for (let n = 0; n < 12; n++)
      await rooms.challenges.verify(stranger, forge(challenge, agent)).catch(() => undefined);
    expect(await failuresOf('security.brute_force.detected')).toEqual([
      {
        type: 'security.brute_force.detected',
        data: expect.objectContaining({ key_id: agent.key.id, failures: 10, window_seconds: 60 }),
      },
    ]);
    expect(await auditOf('security.brute_force.detected')).toEqual([
      expect.objectContaining({
        outcome: 'failure',
        reason: 'invalid_signature',
        target_id: agent.agent.id,
        data: expect.objectContaining({ failures: 10, window_seconds: 60 }),
      }),
    ]);
    expect(await auditOf('auth.login.failure')).toHaveLength(12);
  });

  it('but not for a fingerprint or a challenge that nobody knows', async () => {
    await ask(rooms, context, 'ff'.repeat(32)).catch(() => undefined);
    const audited = await readAudit(rooms.database, context.tenant.id);
    expect(audited.map(({ action }) => action)).toEqual(['tenant.created', 'issuer.key.published']);
    expect(await readEvents(rooms.database, context.tenant.id)).toEqual([]);
  });
});

describe('after too many failures of a key from an address', () => {
  it('further failures there get rate_limited and are not written, on both routes', async () => {
    const agent = await createTestAgent(limited, context);
    const challenge = await ask(limited, context, agent.fingerprint);
    const fail = (from: RequestContext) =>
      limited.challenges.verify(from, forge(challenge, agent)).catch((error: unknown) => error);
    for (let n = 0; n < 3; n++) expect(await fail(stranger)).toMatchObject({ code: 'invalid_signature' });
    const written = (await readAudit(limited.database, context.tenant.id)).length;
    expect(await fail(stranger)).toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: expect.any(Number),
    });
    await expect(ask(limited, stranger, agent.fingerprint, 'root')).rejects.toMatchObject({
      code: 'rate_limited',
    });
    expect(await readAudit(limited.database, context.tenant.id)).toHaveLength(written);
    expect(await fail(context)).toMatchObject({ code: 'invalid_signature' });
  });

  it('a correct signature is accepted, from that address too', async () => {
    const agent = await createTestAgent(limited, context);
    const challenge = await ask(limited, context, agent.fingerprint);
    for (let n = 0; n < 6; n++)
      await limited.challenges.verify(stranger, forge(challenge, agent)).catch(() => undefined);
    await limited.challenges.verify(stranger, answer(challenge, agent));
    const another = await ask(limited, stranger, agent.fingerprint);
    await limited.challenges.verify(stranger, answer(another, agent));
  });

  it.each(['challenge_used', 'challenge_expired'])(
    'a late answer is still told %s, but not written any more, and never counts as a guess',
    async (code) => {
      const agent = await createTestAgent(limited, context);
      const challenge = await ask(limited, context, agent.fingerprint);
      const input = answer(challenge, agent);
      if (code === 'challenge_used') await limited.challenges.verify(context, input);
      else await expire(challenge.id);
      for (let n = 0; n < 6; n++)
        await expect(limited.challenges.verify(context, input)).rejects.toMatchObject({ code });
      const written = await readAudit(limited.database, context.tenant.id);
      expect(written.filter(({ reason }) => reason === code)).toHaveLength(3);
      const another = await ask(limited, context, agent.fingerprint);
      await expect(limited.challenges.verify(context, forge(another, agent))).rejects.toMatchObject({
        code: 'invalid_signature',
      });
    },
  );
});
