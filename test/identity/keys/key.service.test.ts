// Keys against a real database: every form, each algorithm, proofs, states, and what a revocation ends.
import { beforeEach, describe, expect, it } from 'vitest';
import { buildKeyProofPayload } from '../../../packages/agent/src/payloads.ts';
import { presentKey } from '../../../src/identity/keys/key.schemas.ts';
import { KeyService } from '../../../src/identity/keys/key.service.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { KEY_ALGORITHMS } from '../../../src/platform/crypto/algorithm.ts';
import { encodeBase64 } from '../../../src/platform/crypto/base64.ts';
import { fingerprint, toJwk, toSpkiDer } from '../../../src/platform/crypto/public-key.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../../platform/crypto/sign.ts';
import { useTestDatabase } from '../../setup/database.ts';
import {
  createRooms,
  createTestAgent,
  createTestTenant,
  insertRefreshToken,
  readAudit,
  readEvents,
} from '../agents/agent-rooms.ts';

let context: RequestContext;

const { database } = await useTestDatabase();
const rooms = createRooms(database);
beforeEach(async () => {
  context = await createTestTenant(rooms);
});

const newAgent = async () => (await rooms.agents.create(context, { name: 'Robot' })).id;
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

describe('registering a key', () => {
  describe.each(KEY_ALGORITHMS)('of %s', (algorithm) => {
    it('gives the same fingerprint whatever the form, and takes it once', async () => {
      const key = derivePublicKey(algorithm, generatePrivateKey(algorithm));
      const spki = Buffer.from(toSpkiDer(key));
      const pem = `-----BEGIN PUBLIC KEY-----\n${spki.toString('base64')}\n-----END PUBLIC KEY-----\n`;
      const forms = [encodeBase64(key.raw), hex(key.raw), spki.toString('base64'), pem, { ...toJwk(key) }];
      const agentId = await newAgent();
      for (const publicKey of forms) {
        const other = await createTestTenant(rooms);
        const owner = (await rooms.agents.create(other, { name: 'Robot' })).id;
        const made = await rooms.keys.register(other, owner, { algorithm, publicKey });
        expect(made).toMatchObject({ fingerprint: fingerprint(key.raw), algorithm, state: 'active' });
        expect(presentKey(made).public_key).toEqual(toJwk(key));
      }
      await rooms.keys.register(context, agentId, { algorithm, publicKey: hex(key.raw) });
      for (const publicKey of forms)
        await expect(rooms.keys.register(context, agentId, { algorithm, publicKey })).rejects.toMatchObject({
          code: 'key_exists',
        });
    });

    it('verifies a proof by that key immediately, and refuses any other', async () => {
      const agentId = await newAgent();
      const privateKey = generatePrivateKey(algorithm);
      const key = derivePublicKey(algorithm, privateKey);
      const proofFor = (changes: object) =>
        signPayload(
          algorithm,
          privateKey,
          buildKeyProofPayload({
            tenantId: context.tenant.id,
            agentId,
            fingerprint: fingerprint(key.raw),
            ...changes,
          }),
        );
      const publicKey = hex(key.raw);
      for (const proof of [
        proofFor({ agentId: newId() }),
        proofFor({ tenantId: newId() }),
        'AAAA',
        'no base64!',
      ])
        await expect(
          rooms.keys.register(context, agentId, { algorithm, publicKey, proof }),
        ).rejects.toMatchObject({ code: 'invalid_request', errors: [{ path: 'body.proof' }] });
      const made = await rooms.keys.register(context, agentId, { algorithm, publicKey, proof: proofFor({}) });
      expect(made.verifiedAt).toBeInstanceOf(Date);
      const events = await readEvents(rooms.database, context.tenant.id);
      expect(events.slice(-2).map(({ type }) => type)).toEqual([
        'admin.agent.key.registered',
        'admin.agent.key.verified',
      ]);
      expect(events.at(-1)?.data).toMatchObject({ key_id: made.id, key_fingerprint: made.fingerprint });
    });
  });

  it('looks at a proof before it takes a connection or a lock', async () => {
    const order: string[] = [];
    const note = (step: string) => void order.push(step);
    const { agents, records, tokens, verifier, database } = rooms;
    const keys = new KeyService({
      database: {
        query: database.query,
        model: database.model,
        transaction: async (joined, work) => {
          note('begin');
          return database.transaction(joined, work).finally(() => note('end'));
        },
      },
      verifier: {
        verifySignature: async (input) => verifier.verifySignature(input).finally(() => note('verified')),
      },
      agents,
      records,
      tokens,
      rotations: { follow: async () => undefined },
    });
    const privateKey = generatePrivateKey('ed25519');
    const { raw } = derivePublicKey('ed25519', privateKey);
    const agentId = await newAgent();
    const names = { tenantId: context.tenant.id, agentId, fingerprint: fingerprint(raw) };
    const proof = signPayload('ed25519', privateKey, buildKeyProofPayload(names));
    const input = { algorithm: 'ed25519', publicKey: hex(raw), proof } as const;
    expect(await keys.register(context, agentId.toUpperCase(), input)).toMatchObject({
      agentId,
      verifiedAt: expect.any(Date),
    });
    expect(order).toEqual(['verified', 'begin', 'end']);
  });

  it('leaves a key without a proof unverified, with its label, audited', async () => {
    const agentId = await newAgent();
    const key = derivePublicKey('ed25519', generatePrivateKey('ed25519'));
    const made = await rooms.keys.register(context, agentId, {
      algorithm: 'ed25519',
      publicKey: hex(key.raw),
      label: 'laptop',
    });
    expect(made).toMatchObject({ label: 'laptop', verifiedAt: null, sunsetAt: null, lastUsedAt: null });
    expect((await readAudit(rooms.database, context.tenant.id)).at(-1)).toMatchObject({
      action: 'agent.key.registered',
      target_type: 'key',
      target_id: made.id,
      key_id: made.id,
    });
  });

  it.each([
    ['a private JWK', { kty: 'OKP', crv: 'Ed25519', x: 'A'.repeat(43), d: 'A'.repeat(43) }, /private/],
    ['a point of small order', '00'.repeat(32), /small order/],
    [
      'a key of another algorithm',
      { kty: 'EC', crv: 'P-256', x: 'A'.repeat(43), y: 'A'.repeat(43) },
      /es256/,
    ],
    ['nothing like a key', 'hello', /public_key/],
  ])('refuses %s, names the field, and repeats nothing of it', async (_, publicKey, says) => {
    const agentId = await newAgent();
    const error = await rooms.keys
      .register(context, agentId, { algorithm: 'ed25519', publicKey })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({
      code: 'invalid_request',
      detail: expect.stringMatching(says),
      errors: [{ path: 'body.public_key' }],
    });
    expect(JSON.stringify(error)).not.toContain('AAAAAAAA');
  });

  it('lets exactly one of many simultaneous registrations of one key through', async () => {
    const agentId = await newAgent();
    const publicKey = hex(derivePublicKey('es256', generatePrivateKey('es256')).raw);
    const outcomes = await Promise.allSettled(
      Array.from({ length: 8 }, () =>
        rooms.keys.register(context, agentId, { algorithm: 'es256', publicKey }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'key_exists' });
  });

  it('answers not_found for an agent of another tenant', async () => {
    const agentId = await newAgent();
    const stranger = await createTestTenant(rooms);
    const publicKey = hex(derivePublicKey('ed25519', generatePrivateKey('ed25519')).raw);
    await expect(
      rooms.keys.register(stranger, agentId, { algorithm: 'ed25519', publicKey }),
    ).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('reading keys', () => {
  it('pages through them, filters by state, and shows a passed sunset as revoked', async () => {
    const { agent, key: first } = await createTestAgent(rooms, context);
    const register = async () => {
      const key = derivePublicKey('bip340', generatePrivateKey('bip340'));
      return rooms.keys.register(context, agent.id, { algorithm: 'bip340', publicKey: hex(key.raw) });
    };
    const [second, third, fourth] = [await register(), await register(), await register()];
    await rooms.keys.deprecate(context, agent.id, second.id, { sunsetAfterSeconds: 60 });
    await rooms.keys.deprecate(context, agent.id, third.id, { sunsetAfterSeconds: 60 });
    await rooms.database.query(
      "UPDATE agent_keys SET sunset_at = now() - interval '1 second' WHERE id = $1",
      [third.id],
    );
    await rooms.keys.revoke(context, agent.id, fourth.id);
    const ids = async (request: object) =>
      (await rooms.keys.list(context, agent.id, { limit: 10, ...request })).data.map(({ id }) => id);
    expect(await ids({ state: 'active' })).toEqual([first.id]);
    expect(await ids({ state: 'deprecated' })).toEqual([second.id]);
    expect(await ids({ state: 'revoked' })).toEqual([fourth.id, third.id]);
    expect(await rooms.keys.get(context, agent.id, third.id)).toMatchObject({ state: 'revoked' });
    const page = await rooms.keys.list(context, agent.id, { limit: 3 });
    expect(page.data.map(({ id }) => id)).toEqual([fourth.id, third.id, second.id]);
    expect(await ids({ cursor: page.nextCursor })).toEqual([first.id]);
  });

  it('finds a key under its own agent and tenant only', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const other = await createTestAgent(rooms, context);
    const stranger = await createTestTenant(rooms);
    const missing = { code: 'not_found' };
    await expect(rooms.keys.get(context, other.agent.id, key.id)).rejects.toMatchObject(missing);
    await expect(rooms.keys.get(stranger, agent.id, key.id)).rejects.toMatchObject(missing);
    await expect(rooms.keys.revoke(context, other.agent.id, key.id)).rejects.toMatchObject(missing);
    await expect(rooms.keys.revoke(stranger, agent.id, key.id)).rejects.toMatchObject(missing);
    await expect(rooms.keys.get(context, agent.id, newId())).rejects.toMatchObject(missing);
    expect(await rooms.keys.get(context, agent.id, key.id)).toMatchObject({ state: 'active' });
  });
});

describe('deprecating a key', () => {
  it('gives it a sunset in 7 days, which a second deprecation moves', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const began = Date.now();
    const deprecated = await rooms.keys.deprecate(context, agent.id, key.id, {});
    expect(deprecated.state).toBe('deprecated');
    const sunset = deprecated.sunsetAt?.getTime();
    expect(sunset).toBeGreaterThan(began + 6.9 * 86_400_000);
    expect(sunset).toBeLessThanOrEqual(Date.now() + 7 * 86_400_000 + 1);
    const sunsetAt = new Date(Date.now() + 3_600_000);
    const moved = await rooms.keys.deprecate(context, agent.id, key.id, { sunsetAt });
    expect(moved).toMatchObject({ state: 'deprecated', sunsetAt });
    expect((await readEvents(rooms.database, context.tenant.id)).at(-1)).toMatchObject({
      type: 'admin.agent.key.deprecated',
      data: { key_id: key.id, sunset_at: sunsetAt.toISOString() },
    });
  });

  it('refuses a sunset in the past, and a revoked key', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    await expect(
      rooms.keys.deprecate(context, agent.id, key.id, { sunsetAt: new Date(Date.now() - 1_000) }),
    ).rejects.toMatchObject({ code: 'invalid_request', errors: [{ path: 'body.sunset_at' }] });
    await rooms.keys.revoke(context, agent.id, key.id);
    await expect(rooms.keys.deprecate(context, agent.id, key.id, {})).rejects.toMatchObject({
      code: 'conflict',
    });
  });
});

describe('revoking a key', () => {
  it('is final, ends its refresh tokens only, and happens once', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const sibling = derivePublicKey('es256k', generatePrivateKey('es256k'));
    const other = await rooms.keys.register(context, agent.id, {
      algorithm: 'es256k',
      publicKey: hex(sibling.raw),
    });
    const mine = await insertRefreshToken(rooms, context, { agentId: agent.id, keyId: key.id });
    const others = await insertRefreshToken(rooms, context, { agentId: agent.id, keyId: other.id });
    expect(await rooms.keys.revoke(context, agent.id, key.id, 'laptop lost')).toMatchObject({
      state: 'revoked',
    });
    expect(await rooms.keys.revoke(context, agent.id, key.id, 'again')).toMatchObject({ state: 'revoked' });
    expect(await mine()).toBe('key_revoked');
    expect(await others()).toBeNull();
    const revocations = (await readEvents(rooms.database, context.tenant.id)).filter(
      ({ type }) => type === 'admin.agent.key.revoked',
    );
    expect(revocations).toEqual([
      {
        type: 'admin.agent.key.revoked',
        data: expect.objectContaining({ key_id: key.id, agent_id: agent.id, reason: 'laptop lost' }),
      },
    ]);
  });
});
