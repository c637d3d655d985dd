// A challenge that this process has issued: its verification needs no load, and any change since still holds.
import { afterAll, describe, expect, it } from 'vitest';
import type { ServiceError } from '../../../src/platform/errors/service-error.ts';
import {
  createTestAgent,
  createTestTenant,
  readAudit,
  readEvents,
} from '../../identity/agents/agent-rooms.ts';
import { insertSubscription } from '../../webhooks/intake/fixture.ts';
import { createTwoProcesses } from '../tokens/refresh-fixture.ts';
import { answer, ask, forge } from './answer.ts';

const processes = await createTwoProcesses();
const rooms = processes.one;
afterAll(() => processes.drop());

const run = (sql: string, id: string) => processes.database.query(sql, [id]);

/** An agent of a tenant without a subscription, whose key was used a moment ago, and a challenge of process one. */
async function createChallenged() {
  const context = await createTestTenant(rooms);
  await run('UPDATE subscriptions SET deleted_at = now() WHERE tenant_id = $1', context.tenant.id);
  const agent = await createTestAgent(rooms, context);
  await run(
    'UPDATE agent_keys SET first_used_at = now(), verified_at = now(), last_used_at = now() WHERE id = $1',
    agent.key.id,
  );
  const challenge = await ask(rooms, context, agent.fingerprint);
  const verify = (input = answer(challenge, agent), where = rooms) => where.challenges.verify(context, input);
  return { context, agent, challenge, verify };
}

const codeOf = (work: Promise<unknown>) =>
  work.then(
    () => 'accepted',
    ({ code }: ServiceError) => code,
  );
const claimsOf = (token: string) =>
  JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>;

describe('a remembered challenge', () => {
  it('is verified without a load, audited, and used up', async () => {
    const { context, agent, verify } = await createChallenged();
    const before = (await readEvents(processes.database, context.tenant.id)).length;
    const { accessToken } = await verify();
    const { jti } = claimsOf(accessToken);
    expect((await readAudit(processes.database, context.tenant.id)).slice(-2)).toMatchObject([
      { action: 'auth.login.success', actor_id: agent.agent.id, key_id: agent.key.id, token_id: jti },
      { action: 'auth.token.issued', actor_id: agent.agent.id, key_id: agent.key.id, token_id: jti },
    ]);
    expect(await readEvents(processes.database, context.tenant.id)).toHaveLength(before);
    expect(await codeOf(verify())).toBe('challenge_used');
  });

  it.each<[string, string, string]>([
    ['the key is revoked', "UPDATE agent_keys SET state = 'revoked' WHERE id = $1", 'key_revoked'],
    [
      'the key is past its sunset',
      "UPDATE agent_keys SET state = 'deprecated', deprecated_at = now(), sunset_at = now() WHERE id = $1",
      'key_revoked',
    ],
  ])('is refused when %s', async (_, sql, code) => {
    const { agent, verify } = await createChallenged();
    await run(sql, agent.key.id);
    expect(await codeOf(verify())).toBe(code);
  });

  it.each<[string, string, string]>([
    ['is suspended', "UPDATE agents SET status = 'suspended' WHERE id = $1", 'policy_denied'],
    ['is deleted', 'UPDATE agents SET deleted_at = now() WHERE id = $1', 'key_not_found'],
    ['loses the scope', "UPDATE agents SET scopes = '{email}' WHERE id = $1", 'invalid_scope'],
  ])('is refused when the agent %s', async (_, sql, code) => {
    const { agent, verify } = await createChallenged();
    await run(sql, agent.agent.id);
    expect(await codeOf(verify())).toBe(code);
  });

  it('is refused after its end, by the clock of the database', async () => {
    const { challenge, verify } = await createChallenged();
    await run("UPDATE challenges SET expires_at = now() - interval '1 second' WHERE id = $1", challenge.id);
    expect(await codeOf(verify())).toBe('challenge_expired');
  });

  it('is refused with the reason that comes first, also when the signature is wrong', async () => {
    const { agent, challenge, verify } = await createChallenged();
    await run("UPDATE agents SET status = 'suspended' WHERE id = $1", agent.agent.id);
    expect(await codeOf(verify(forge(challenge, agent)))).toBe('policy_denied');
  });

  it('is not spent by a wrong signature, which is recorded', async () => {
    const { context, agent, challenge, verify } = await createChallenged();
    expect(await codeOf(verify(forge(challenge, agent)))).toBe('invalid_signature');
    expect((await readAudit(processes.database, context.tenant.id)).at(-1)).toMatchObject({
      action: 'auth.login.failure',
      reason: 'invalid_signature',
    });
    expect(await codeOf(verify())).toBe('accepted');
  });

  it('gives a token with what the agent is now', async () => {
    const { agent, verify } = await createChallenged();
    await run("UPDATE agents SET name = 'Renamed', capabilities = '{mail}' WHERE id = $1", agent.agent.id);
    expect(claimsOf((await verify()).accessToken).agent).toEqual({ name: 'Renamed', capabilities: ['mail'] });
  });

  it('makes events from the moment of a subscription', async () => {
    const { context, verify } = await createChallenged();
    await insertSubscription(processes.database, context, { filters: ['*'] });
    const { jti } = claimsOf((await verify()).accessToken);
    expect((await readEvents(processes.database, context.tenant.id)).at(-1)).toMatchObject({
      type: 'auth.token.issued',
      data: { token_id: jti },
    });
  });

  it('is used once by many, in two processes', async () => {
    const { agent, challenge, verify } = await createChallenged();
    const input = answer(challenge, agent);
    const codes = await Promise.all(
      Array.from({ length: 20 }, (_, n) => codeOf(verify(input, n % 2 ? processes.one : processes.two))),
    );
    expect(codes.filter((code) => code === 'accepted')).toHaveLength(1);
    expect(new Set(codes)).toEqual(new Set(['accepted', 'challenge_used']));
  });
});
