// The public key sets of agents: what they show, how soon each process shows a change, and what strangers can cause.
import { calculateJwkThumbprint, importJWK } from 'jose';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KeySetService } from '../../../src/identity/keys/key-set.service.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { KEY_ALGORITHMS } from '../../../src/platform/crypto/algorithm.ts';
import { toJwk } from '../../../src/platform/crypto/public-key.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createRateLimits } from '../../../src/platform/http/rate-limit.ts';
import { countAlone } from '../../platform/http/counts.ts';
import { startTestServer, type TestServer } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { createRooms, createTestAgent, createTestTenant } from '../agents/agent-rooms.ts';

const { database } = await useTestDatabase();
const rooms = createRooms(database);
let context: RequestContext;
beforeEach(async () => {
  context = await createTestTenant(rooms);
});

/** One process with its own clock, which stands still until it is moved, and the number of its statements. */
function startProcess() {
  const state = { now: 0, statements: 0 };
  const counted: typeof database.query = (...call) => {
    state.statements += 1;
    return database.query(...call);
  };
  const sets = new KeySetService({ database: { query: counted }, now: () => state.now });
  const kids = async (agentId: string, asked = context) =>
    (await sets.describe(asked, agentId)).keys.map(({ kid }) => kid);
  return { state, describe: sets.describe, kids };
}

describe('a set', () => {
  it.each(KEY_ALGORITHMS)(
    'shows a key of %s as a JWK that libraries read, or not at all',
    async (algorithm) => {
      const { agent, publicKey } = await createTestAgent(rooms, context, { algorithm });
      const { keys } = await startProcess().describe(context, agent.id);
      if (algorithm === 'bip340') return expect(keys).toEqual([]);
      const [jwk] = keys;
      expect(jwk).toEqual({ ...toJwk(publicKey), kid: jwk?.kid, use: 'sig', alg: jwk?.alg });
      expect(jwk?.kid).toBe(await calculateJwkThumbprint({ ...jwk }));
      expect(jwk?.alg).toBe({ ed25519: 'EdDSA', es256: 'ES256', es256k: 'ES256K' }[algorithm]);
      // Web Crypto, which jose uses, has no secp256k1.
      if (algorithm !== 'es256k') await expect(importJWK({ ...jwk })).resolves.toBeDefined();
    },
  );

  it('has deprecated keys until their sunset, the newest first, and no revoked ones', async () => {
    const { agent, key: old } = await createTestAgent(rooms, context);
    const add = () => createTestAgent(rooms, context).then(({ publicKey }) => toJwk(publicKey));
    const next = await rooms.keys.register(context, agent.id, {
      algorithm: 'es256',
      publicKey: {
        ...toJwk(
          (await createTestAgent(rooms, await createTestTenant(rooms), { algorithm: 'es256' })).publicKey,
        ),
      },
    });
    await add();
    await rooms.keys.deprecate(context, agent.id, old.id, { sunsetAfterSeconds: 60 });
    const both = [next.jwkThumbprint, old.jwkThumbprint];
    expect(await startProcess().kids(agent.id)).toEqual(both);
    await database.query("UPDATE agent_keys SET sunset_at = now() - interval '1 second' WHERE id = $1", [
      old.id,
    ]);
    expect(await startProcess().kids(agent.id)).toEqual([next.jwkThumbprint]);
    await rooms.keys.revoke(context, agent.id, next.id);
    expect(await startProcess().kids(agent.id)).toEqual([]);
  });

  it('is empty while the agent or the tenant is suspended, and after the agent was deleted', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const kids = () => startProcess().kids(agent.id);
    await rooms.agents.suspend(context, agent.id);
    expect(await kids()).toEqual([]);
    await rooms.agents.reactivate(context, agent.id);
    expect(await kids()).toEqual([key.jwkThumbprint]);
    const suspended = { ...context, tenant: { ...context.tenant, suspended: true as const } };
    expect(await startProcess().kids(agent.id, suspended)).toEqual([]);
    await rooms.agents.remove(context, agent.id);
    expect(await kids()).toEqual([]);
  });

  it('is not found for an agent that the tenant never had', async () => {
    const { agent } = await createTestAgent(rooms, context);
    const other = await createTestTenant(rooms);
    for (const [asked, id] of [
      [context, newId()],
      [other, agent.id],
    ] as const)
      await expect(startProcess().describe(asked, id)).rejects.toMatchObject({ code: 'not_found' });
  });
});

describe('each process', () => {
  it('shows a new key, a revocation and a suspension half a second later', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const processes = [startProcess(), startProcess()];
    const show = async (expected: readonly (string | null)[]) => {
      for (const process of processes) {
        process.state.now += 500;
        expect(await process.kids(agent.id.toUpperCase())).toEqual(expected);
      }
    };
    await show([key.jwkThumbprint]);
    const other = await createTestAgent(rooms, await createTestTenant(rooms));
    const next = await rooms.keys.register(context, agent.id, {
      algorithm: 'ed25519',
      publicKey: { ...toJwk(other.publicKey) },
    });
    await show([next.jwkThumbprint, key.jwkThumbprint]);
    await rooms.keys.revoke(context, agent.id, key.id);
    await show([next.jwkThumbprint]);
    await rooms.agents.suspend(context, agent.id);
    await show([]);
  });

  it('uses no older set while the database does not answer', async () => {
    const { agent } = await createTestAgent(rooms, context);
    let isAway = false;
    let now = 0;
    const sets = new KeySetService({
      database: {
        query: (...call) => (isAway ? Promise.reject(new Error('away')) : database.query(...call)),
      },
      now: () => now,
    });
    await sets.describe(context, agent.id);
    isAway = true;
    await expect(sets.describe(context, agent.id)).resolves.toBeDefined();
    now += 500;
    await expect(sets.describe(context, agent.id)).rejects.toThrow('away');
  });

  it('answers from memory, and looks up what strangers invent in few statements', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const { state, kids } = startProcess();
    for (let asked = 0; asked < 50; asked++) expect(await kids(agent.id)).toEqual([key.jwkThumbprint]);
    expect(state.statements).toBe(1);
    const invented = Array.from({ length: 400 }, () => kids(newId()).catch(({ code }) => code));
    expect(new Set(await Promise.all(invented))).toEqual(new Set(['not_found']));
    expect(state.statements).toBeLessThanOrEqual(4);
    const before = state.statements;
    expect(await kids(agent.id)).toEqual([key.jwkThumbprint]);
    expect(state.statements).toBe(before);
  });
});

describe('over HTTP', () => {
  let server: TestServer;
  beforeAll(async () => {
    await rooms.tenants.create({ slug: 'demo' });
    const rateLimits = createRateLimits({ tenant: 2, address: 0 }, countAlone());
    server = await startTestServer(rooms.routes, { database, tenants: rooms.tenants, rateLimits });
  });
  afterAll(() => server?.drain(0));

  it('may be read by pages of any origin, cached for a short time, and is refused by no limit of the tenant', async () => {
    const tenant = await rooms.tenants.bySlug('demo');
    if (tenant === undefined) throw new Error('no tenant');
    const { agent } = await createTestAgent(rooms, { ...context, tenant });
    const path = `/agents/${agent.id}/jwks.json`;
    const first = await server.send('GET', path);
    expect(first.status).toBe(200);
    expect(first.body.keys).toHaveLength(1);
    expect(Object.fromEntries(first.headers)).toMatchObject({
      'content-type': 'application/jwk-set+json',
      'cache-control': 'public, max-age=30',
      'access-control-allow-origin': '*',
    });
    const etag = first.headers.get('etag') ?? '';
    for (let asked = 0; asked < 5; asked++)
      expect((await server.fetch(path, { headers: { 'if-none-match': etag } })).status).toBe(304);
    for (const id of [newId(), newId(), newId(), 'x'])
      expect((await server.send('GET', `/agents/${id}/jwks.json`)).status).toBe(404);
    expect((await server.send('GET', path)).status).toBe(200);
  });
});
