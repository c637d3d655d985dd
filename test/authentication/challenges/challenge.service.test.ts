// Challenge-response end to end in the services, against a real database: each algorithm, aliases, tokens, records,
// round trips.
import { createLocalJWKSet, jwtVerify } from 'jose';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { KEY_ALGORITHMS } from '../../../src/platform/crypto/algorithm.ts';
import { fingerprintAliases } from '../../../src/platform/crypto/public-key.ts';
import {
  createRooms,
  createTestAgent,
  createTestTenant,
  readAudit,
  readEvents,
} from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { answer, ask, forge } from './answer.ts';

let context: RequestContext;

const { database } = await useTestDatabase();
const rooms = createRooms(database);
beforeEach(async () => {
  context = await createTestTenant(rooms);
});
afterAll(() => rooms.verifier.close());

describe.each(KEY_ALGORITHMS)('an agent with a key of %s', (algorithm) => {
  it('gets a challenge, signs it and gets tokens that the published keys verify', async () => {
    const agent = await createTestAgent(rooms, context, { algorithm });
    const challenge = await ask(rooms, context, agent.fingerprint, 'vault:read  openid openid');
    const granted = await rooms.challenges.verify(context, answer(challenge, agent));
    expect(granted).toMatchObject({ expiresIn: 300, scopes: ['openid', 'vault:read'], warnings: {} });
    const keys = await rooms.issuer.jwks(context.tenant);
    const { payload, protectedHeader } = await jwtVerify(
      granted.accessToken,
      createLocalJWKSet({ keys: keys.keys.map((key) => ({ ...key })) }),
      { issuer: context.tenant.issuerUrl, audience: context.tenant.audience, typ: 'at+jwt' },
    );
    expect(protectedHeader).toMatchObject({ typ: 'at+jwt', kid: expect.any(String) });
    expect(payload).toEqual({
      iss: context.tenant.issuerUrl,
      sub: agent.agent.id,
      aud: context.tenant.audience,
      exp: (payload.iat ?? 0) + 300,
      iat: expect.any(Number),
      jti: expect.stringMatching(/^[0-9a-f-]{36}$/),
      scope: 'openid vault:read',
      client_id: 'service-agent',
      subject_type: 'agent',
      agent: { name: 'Robot', capabilities: ['web', 'mcp'] },
      tenant_id: context.tenant.id,
    });
  });

  it('may name its key by any alias, which the challenge echoes', async () => {
    const agent = await createTestAgent(rooms, context, { algorithm });
    for (const alias of fingerprintAliases(agent.publicKey)) {
      const challenge = await ask(rooms, context, alias);
      expect(challenge).toMatchObject({ keyFingerprint: alias, algorithm });
      await rooms.challenges.verify(context, answer(challenge, agent));
    }
  });

  it('is refused with another key, and its challenge is not spent by that', async () => {
    const agent = await createTestAgent(rooms, context, { algorithm });
    const challenge = await ask(rooms, context, agent.fingerprint);
    for (const input of [forge(challenge, agent), { ...answer(challenge, agent), signature: '!' }])
      await expect(rooms.challenges.verify(context, input)).rejects.toMatchObject({
        code: 'invalid_signature',
      });
    await rooms.challenges.verify(context, answer(challenge, agent));
    await expect(rooms.challenges.verify(context, answer(challenge, agent))).rejects.toMatchObject({
      code: 'challenge_used',
    });
  });
});

it.each(['es256', 'es256k'] as const)('takes a DER signature of %s too', async (algorithm) => {
  const agent = await createTestAgent(rooms, context, { algorithm });
  const challenge = await ask(rooms, context, agent.fingerprint);
  await rooms.challenges.verify(context, answer(challenge, agent, { form: 'der' }));
});

it('lets an alias that two keys share name the one that is usable', async () => {
  const curve = await createTestAgent(rooms, context, { algorithm: 'bip340' });
  const [alias = ''] = fingerprintAliases(curve.publicKey);
  const point = Buffer.concat([Buffer.of(2), curve.publicKey.raw]).toString('hex');
  const twin = await rooms.keys.register(context, curve.agent.id, { algorithm: 'es256k', publicKey: point });
  expect((await ask(rooms, context, alias)).algorithm).toBe('bip340');
  await rooms.keys.revoke(context, curve.agent.id, curve.key.id);
  expect((await ask(rooms, context, alias)).algorithm).toBe('es256k');
  await rooms.keys.revoke(context, curve.agent.id, twin.id);
  await expect(ask(rooms, context, alias)).rejects.toMatchObject({ code: 'key_revoked' });
});

describe('an alias that keys of two agents share', () => {
  /** An agent, and another one that registers the first one's point without a proof. */
  async function prepareThief(isFirst: boolean) {
    const [mine, other] = ['es256k', 'bip340'] as const;
    const victim = await createTestAgent(rooms, context, { algorithm: mine });
    const thief = await createTestAgent(rooms, context);
    const x = Buffer.from(victim.publicKey.raw).subarray(1, 33).toString('hex');
    await rooms.keys.register(context, thief.agent.id, { algorithm: other, publicKey: x });
    // Ids grow with time: the older key is the one with the lower id.
    if (isFirst)
      await rooms.database.query(
        "UPDATE agent_keys SET id = ('00000000-0000-7000-8000-' || right(id::text, 12))::uuid WHERE agent_id = $1 AND algorithm = $2",
        [thief.agent.id, other],
      );
    return { victim, aliases: fingerprintAliases(victim.publicKey).slice(0, 2) };
  }

  it.each([true, false])('names the verified one (thief first: %s)', async (isFirst) => {
    const { victim, aliases } = await prepareThief(isFirst);
    const challenge = await ask(rooms, context, victim.fingerprint);
    await rooms.challenges.verify(context, answer(challenge, victim));
    for (const alias of aliases) expect((await ask(rooms, context, alias)).algorithm).toBe('es256k');
  });

  it.each([true, false])('names none while none is verified (thief first: %s)', async (isFirst) => {
    const { victim, aliases } = await prepareThief(isFirst);
    for (const alias of aliases)
      await expect(ask(rooms, context, alias)).rejects.toMatchObject({ code: 'key_not_found' });
    expect((await ask(rooms, context, victim.fingerprint)).algorithm).toBe('es256k');
  });
});

describe('a challenge', () => {
  it('says what the specification shows, in whole seconds of the database', async () => {
    const { fingerprint } = await createTestAgent(rooms, context);
    const began = Date.now();
    const { challenge } = await rooms.challenges.issue(context, {
      keyFingerprint: fingerprint,
      scope: 'openid',
    });
    expect(challenge).toMatchObject({
      nonce: expect.stringMatching(/^[0-9a-f]{64}$/),
      audience: context.tenant.issuerUrl,
      keyFingerprint: fingerprint,
      algorithm: 'ed25519',
    });
    expect(challenge.createdAt.getMilliseconds()).toBe(0);
    expect(challenge.expiresAt.getTime() - challenge.createdAt.getTime()).toBe(300_000);
    // In whole seconds.
    expect(challenge.createdAt.getTime()).toBeGreaterThan(began - 2_000);
    expect(challenge.createdAt.getTime()).toBeLessThanOrEqual(Date.now());
    expect((await ask(rooms, context, fingerprint)).nonce).not.toBe(challenge.nonce);
  });

  it('is of no use in another tenant', async () => {
    const agent = await createTestAgent(rooms, context);
    const stranger = await createTestTenant(rooms);
    await expect(ask(rooms, stranger, agent.fingerprint)).rejects.toMatchObject({ code: 'key_not_found' });
    const challenge = await ask(rooms, context, agent.fingerprint);
    await expect(rooms.challenges.verify(stranger, answer(challenge, agent))).rejects.toMatchObject({
      code: 'invalid_grant',
    });
  });

  it('warns of a deprecated key, and so does the verification', async () => {
    const agent = await createTestAgent(rooms, context);
    const sunsetAt = new Date(Math.ceil(Date.now() / 1000) * 1000 + 60_000);
    await rooms.keys.deprecate(context, agent.agent.id, agent.key.id, { sunsetAt });
    const issued = await rooms.challenges.issue(context, {
      keyFingerprint: agent.fingerprint,
      scope: 'openid',
    });
    const granted = await rooms.challenges.verify(context, answer(issued.challenge, agent));
    for (const { warnings } of [issued, granted]) {
      expect(warnings).toEqual({
        warning: expect.stringMatching(/^299 - ".*"$/),
        deprecation: expect.stringMatching(/^@\d{10}$/),
        sunset: sunsetAt.toUTCString(),
      });
      expect(warnings.warning).toContain(sunsetAt.toISOString());
    }
  });
});

describe('a success', () => {
  it('stores the refresh token as a hash, for the agent, its key and the granted scopes', async () => {
    const agent = await createTestAgent(rooms, context);
    const challenge = await ask(rooms, context, agent.fingerprint, 'vault:read openid');
    const { refreshToken } = await rooms.challenges.verify(context, answer(challenge, agent));
    expect(refreshToken).toMatch(/^[A-Za-z0-9_-]{43}$/);
    const { rows } = await rooms.database.query<Record<string, unknown>>(
      "SELECT *, encode(hash, 'hex') AS hex, hash = sha256($2::text::bytea) AS is_hash FROM refresh_tokens WHERE agent_id = $1",
      [agent.agent.id, refreshToken],
    );
    expect(rows).toEqual([
      expect.objectContaining({
        is_hash: true,
        key_id: agent.key.id,
        client_id: 'service-agent',
        scopes: ['openid', 'vault:read'],
        audience: context.tenant.audience,
        used_at: null,
        revoked_at: null,
      }),
    ]);
  });

  it('is audited and told once each, and the first one verifies the key', async () => {
    const agent = await createTestAgent(rooms, context, { scopes: ['openid'] });
    const registration = async () => (await rooms.agents.get(context, agent.agent.id)).registration;
    expect(await registration()).toMatchObject({ complete: false, verified: false, audited: false });
    const address = { ...context, principal: undefined };
    for (let n = 0; n < 2; n++)
      await rooms.challenges.verify(address, answer(await ask(rooms, address, agent.fingerprint), agent));
    const audited = (await readAudit(rooms.database, context.tenant.id)).slice(-5);
    expect(audited.map(({ action }) => action)).toEqual([
      'auth.login.success',
      'auth.token.issued',
      'agent.key.verified',
      'auth.login.success',
      'auth.token.issued',
    ]);
    for (const entry of audited)
      expect(entry).toMatchObject({
        outcome: 'success',
        actor_kind: 'agent',
        actor_id: agent.agent.id,
        key_id: agent.key.id,
        token_id: expect.any(String),
        address: context.address,
      });
    const events = (await readEvents(rooms.database, context.tenant.id)).slice(-5);
    expect(events.map(({ type }) => type)).toEqual([
      'auth.login.success',
      'auth.token.issued',
      'admin.agent.key.verified',
      'auth.login.success',
      'auth.token.issued',
    ]);
    expect(events[1]?.data).toMatchObject({ token_id: audited[1]?.token_id, scope: 'openid' });
    expect(await rooms.keys.get(context, agent.agent.id, agent.key.id)).toMatchObject({
      verifiedAt: expect.any(Date),
    });
    expect(await registration()).toEqual({
      complete: true,
      active: true,
      verified: true,
      scoped: true,
      audited: true,
    });
    await rooms.keys.revoke(context, agent.agent.id, agent.key.id);
    expect(await registration()).toMatchObject({ complete: false, verified: false, audited: false });
  });

  it("uses the agent's own audience where it has one", async () => {
    const agent = await createTestAgent(rooms, context);
    await rooms.agents.update(context, agent.agent.id, { audience: 'https://api.example' });
    const challenge = await ask(rooms, context, agent.fingerprint);
    const { accessToken } = await rooms.challenges.verify(context, answer(challenge, agent));
    const claims = JSON.parse(Buffer.from(accessToken.split('.')[1] ?? '', 'base64url').toString());
    expect(claims.aud).toBe('https://api.example');
  });

  it('notes the use of the key at most once a minute', async () => {
    const agent = await createTestAgent(rooms, context);
    const lastUsedAt = async () => (await rooms.keys.get(context, agent.agent.id, agent.key.id)).lastUsedAt;
    const login = async () =>
      rooms.challenges.verify(context, answer(await ask(rooms, context, agent.fingerprint), agent));
    await login();
    const first = await vi.waitUntil(lastUsedAt, PATIENCE);
    await login();
    expect(await lastUsedAt()).toEqual(first);
    await rooms.database.query(
      "UPDATE agent_keys SET last_used_at = now() - interval '61 seconds' WHERE id = $1",
      [agent.key.id],
    );
    await login();
    await vi.waitUntil(async () => ((await lastUsedAt()) ?? first) >= first, PATIENCE);
  });
});

describe('round trips', () => {
  it('are 2 for a challenge, and for a verification 1 to load and 1 that consumes and records', async () => {
    const agent = await createTestAgent(rooms, context);
    const login = async () => {
      const challenge = await ask(rooms, context, agent.fingerprint);
      return rooms.challenges.verify(context, answer(challenge, agent));
    };
    await login();
    await vi.waitUntil(
      async () => (await rooms.keys.get(context, agent.agent.id, agent.key.id)).lastUsedAt,
      PATIENCE,
    );
    await rooms.issuer.jwks(context.tenant);
    const query = vi.spyOn(pg.Client.prototype, 'query');
    try {
      await login();
      const texts = query.mock.calls.map(([statement]) => {
        const { text = String(statement) } = statement as { text?: string };
        return text.trim().split(/\s+/).slice(0, 3).join(' ');
      });
      expect(texts).toEqual([
        'SELECT k.id AS',
        'INSERT INTO challenges',
        'SELECT c.tenant_id, c.id',
        'WITH asked AS',
      ]);
    } finally {
      query.mockRestore();
    }
  });
});
