// The life of agents against a real database: what is stored, audited, emitted, and ended.
import { describe, expect, it } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { useTestDatabase } from '../../setup/database.ts';
import {
  createRooms,
  createTestAgent,
  createTestTenant,
  insertRefreshToken,
  readAudit,
  readEvents,
} from './agent-rooms.ts';

let context: RequestContext;

const { database } = await useTestDatabase();
const rooms = createRooms(database);

const notFound = { code: 'not_found' };

describe('creating an agent', () => {
  it('gives defaults, records the creation and emits the event', async () => {
    context = await createTestTenant(rooms);
    const began = Date.now();
    const agent = await rooms.agents.create(context, { name: 'Robot' });
    expect(agent).toMatchObject({
      name: 'Robot',
      description: null,
      capabilities: [],
      status: 'active',
      audience: null,
      audiences: [],
      scopes: ['openid', 'profile', 'email', 'offline_access', 'wallet:sign', 'vault:read'],
      metadata: {},
    });
    expect(agent.createdAt.getTime()).toBeGreaterThan(began - 60_000);
    expect(await readAudit(rooms.database, context.tenant.id)).toContainEqual(
      expect.objectContaining({
        action: 'agent.created',
        outcome: 'success',
        actor_kind: 'application',
        actor_id: context.principal?.subject,
        target_id: agent.id,
      }),
    );
    expect(await readEvents(rooms.database, context.tenant.id)).toEqual([
      {
        type: 'admin.agent.registered',
        data: expect.objectContaining({ agent_id: agent.id, name: 'Robot' }),
      },
    ]);
  });

  it('keeps nothing when the event cannot be written', async () => {
    context = await createTestTenant(rooms);
    const name = 'x'.repeat(300_000);
    await expect(rooms.agents.create(context, { name })).rejects.toMatchObject({ code: 'payload_too_large' });
    expect((await rooms.agents.list(context, { limit: 10 })).data).toEqual([]);
    expect((await readAudit(rooms.database, context.tenant.id)).map(({ action }) => action)).toEqual([
      'tenant.created',
      'issuer.key.published',
    ]);
  });

  it('keeps text, arrays and nested metadata as they were sent', async () => {
    context = await createTestTenant(rooms);
    const input = {
      name: 'Zoë "quoted" \\ {1,2}',
      description: 'two\nlines',
      capabilities: ['web', 'a,b', '{"x"}', "o'brien", 'NULL', ''],
      audience: 'https://api.example',
      audiences: ['https://other.example'],
      scopes: ['openid', 'vault:read'],
      metadata: { team: { id: 1, tags: ['a', null] } },
    };
    const { id } = await rooms.agents.create(context, input);
    expect(await rooms.agents.get(context, id)).toMatchObject(input);
  });
});

describe('reading agents', () => {
  it('pages through all of them, the newest first, each once', async () => {
    context = await createTestTenant(rooms);
    const made: string[] = [];
    for (let n = 0; n < 7; n++) made.unshift((await rooms.agents.create(context, { name: `Robot ${n}` })).id);
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await rooms.agents.list(context, { limit: 3, cursor });
      expect(page.data.length).toBeLessThanOrEqual(3);
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.nextCursor ?? undefined;
    } while (cursor !== undefined);
    expect(seen).toEqual(made);
  });

  it('pages past what is made and deleted meanwhile: each that was there all the time, once', async () => {
    context = await createTestTenant(rooms);
    const made: string[] = [];
    for (let n = 0; n < 12; n++)
      made.unshift((await rooms.agents.create(context, { name: `Robot ${n}` })).id);
    const seen: string[] = [];
    const gone: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await rooms.agents.list(context, { limit: 3, cursor });
      seen.push(...page.data.map(({ id }) => id));
      cursor = page.nextCursor ?? undefined;
      // The last one of the page, which the cursor is made of, and one that is still to come.
      const toCome = made.filter((id) => !seen.includes(id) && !gone.includes(id));
      for (const id of [seen.at(-1), toCome[1]]) {
        if (id === undefined) continue;
        await rooms.agents.remove(context, id);
        gone.push(id);
      }
      await rooms.agents.create(context, { name: 'late' });
    } while (cursor !== undefined);
    const stayed = (await rooms.agents.list(context, { limit: 50 })).data.map(({ id }) => id);
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual(made.filter((id) => seen.includes(id)));
    expect(made.filter((id) => stayed.includes(id) && !seen.includes(id))).toEqual([]);
  });

  it('filters by status, name, capability and scope', async () => {
    context = await createTestTenant(rooms);
    const first = await rooms.agents.create(context, { name: 'first' });
    const second = await rooms.agents.create(context, { name: 'second' });
    await rooms.agents.suspend(context, first.id);
    const ids = async (filters: object) =>
      (await rooms.agents.list(context, { limit: 10, ...filters })).data.map(({ id }) => id);
    expect(await ids({ status: 'suspended' })).toEqual([first.id]);
    expect(await ids({ status: 'active' })).toEqual([second.id]);
    expect(await ids({ name: 'second' })).toEqual([second.id]);
    expect(await ids({ name: 'secon' })).toEqual([]);
    const third = await rooms.agents.create(context, {
      name: "it's",
      capabilities: ['web', "o'clock"],
      scopes: ['openid'],
    });
    expect(await ids({ capability: "o'clock" })).toEqual([third.id]);
    expect(await ids({ capability: 'we' })).toEqual([]);
    expect(await ids({ scope: 'openid', name: "it's" })).toEqual([third.id]);
    expect(await ids({ scope: 'vault:read' })).toEqual([second.id, first.id]);
  });

  it("hides another tenant's agents", async () => {
    context = await createTestTenant(rooms);
    const stranger = await createTestTenant(rooms);
    const { id } = await rooms.agents.create(context, { name: 'Robot' });
    await expect(rooms.agents.get(stranger, id)).rejects.toMatchObject(notFound);
    await expect(rooms.agents.suspend(stranger, id)).rejects.toMatchObject(notFound);
    await expect(rooms.agents.update(stranger, id, { name: 'Mine' })).rejects.toMatchObject(notFound);
    await expect(rooms.agents.remove(stranger, id)).rejects.toMatchObject(notFound);
    expect((await rooms.agents.list(stranger, { limit: 10 })).data).toEqual([]);
    expect(await rooms.agents.get(context, id)).toMatchObject({ name: 'Robot', status: 'active' });
  });

  it('answers not_found for an id that never was', async () => {
    context = await createTestTenant(rooms);
    await expect(rooms.agents.get(context, newId())).rejects.toMatchObject(notFound);
  });
});

describe('changing an agent', () => {
  it('changes the named fields only, and moves updated_at', async () => {
    context = await createTestTenant(rooms);
    const before = await rooms.agents.create(context, {
      name: 'Robot',
      description: 'old',
      capabilities: ['web'],
    });
    const after = await rooms.agents.update(context, before.id, { description: null, scopes: ['openid'] });
    expect(after).toMatchObject({
      name: 'Robot',
      description: null,
      capabilities: ['web'],
      scopes: ['openid'],
    });
    expect(after.updatedAt.getTime()).toBeGreaterThan(before.updatedAt.getTime());
    const events = await readEvents(rooms.database, context.tenant.id);
    const cause = 'agent.updated';
    expect(events.slice(-2)).toMatchObject([
      { type: 'admin.agent.updated', data: { changed: ['description', 'scopes'] } },
      { type: 'auth.token.revoked', data: { token_type: 'all', sub: before.id, ends: 'now', cause } },
    ]);
  });

  it('records that owner and purpose changed, and keeps their texts out of the audit log', async () => {
    context = await createTestTenant(rooms);
    const { id } = await rooms.agents.create(context, { name: 'Robot', owner: 'old@example.com' });
    await rooms.agents.update(context, id, { owner: 'new@example.com', purpose: 'Orders supplies' });
    const entries = await readAudit(rooms.database, context.tenant.id);
    expect(JSON.stringify(entries.find(({ action }) => action === 'agent.updated'))).toContain('purpose');
    expect(JSON.stringify(entries)).not.toMatch(/@example\.com|Orders supplies/);
  });

  it('loses neither of two changes at the same time, and tells what each one changed', async () => {
    const { id } = await rooms.agents.create(context, { name: 'Robot', scopes: ['openid'] });
    await Promise.all([
      rooms.agents.update(context, id, { name: 'Android' }),
      rooms.agents.update(context, id, { scopes: ['openid', 'email'], metadata: { secret: 1 } }),
    ]);
    const agent = await rooms.agents.get(context, id);
    expect(agent).toMatchObject({ name: 'Android', scopes: ['openid', 'email'], metadata: { secret: 1 } });
    const entries = (await readAudit(rooms.database, context.tenant.id)).filter(
      ({ action, target_id }) => action === 'agent.updated' && target_id === id,
    );
    expect(entries.map(({ data }) => data)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({
          fields: ['name'],
          changes: { name: { from: 'Robot', to: 'Android' } },
        }),
        expect.objectContaining({
          fields: ['scopes', 'metadata'],
          changes: { scopes: { from: ['openid'], to: ['openid', 'email'] } },
        }),
      ]),
    );
  });

  it('does nothing for a change to what is there, and keeps following the tenant’s audience', async () => {
    const agent = await rooms.agents.create(context, { name: 'Robot', metadata: { a: { b: 1, c: [2] } } });
    const { name, capabilities, scopes } = agent;
    const same = {
      name,
      capabilities,
      scopes,
      metadata: { a: { c: [2], b: 1 } },
      audience: context.tenant.audience,
    };
    expect(await rooms.agents.update(context, agent.id, same)).toEqual(agent);
    const moved = { ...context, tenant: { ...context.tenant, audience: 'https://new.example' } };
    expect((await rooms.agents.update(moved, agent.id, same)).audience).toBe(context.tenant.audience);
    const actions = (await readAudit(rooms.database, context.tenant.id)).filter(
      ({ action, target_id }) => action === 'agent.updated' && target_id === agent.id,
    );
    expect(actions).toHaveLength(1);
  });

  it('does nothing for an empty change', async () => {
    context = await createTestTenant(rooms);
    const { id, updatedAt } = await rooms.agents.create(context, { name: 'Robot' });
    expect(await rooms.agents.update(context, id, {})).toMatchObject({ updatedAt });
    expect(await readEvents(rooms.database, context.tenant.id)).toHaveLength(1);
  });
});

describe('suspending an agent', () => {
  it('ends its refresh tokens, once, and reactivation does not revive them', async () => {
    context = await createTestTenant(rooms);
    const { agent, key } = await createTestAgent(rooms, context);
    const revokedReason = await insertRefreshToken(rooms, context, { agentId: agent.id, keyId: key.id });
    expect(await revokedReason()).toBeNull();
    expect(await rooms.agents.suspend(context, agent.id)).toMatchObject({ status: 'suspended' });
    expect(await revokedReason()).toBe('agent_suspended');
    expect(await rooms.agents.suspend(context, agent.id)).toMatchObject({ status: 'suspended' });
    expect(await rooms.agents.reactivate(context, agent.id)).toMatchObject({ status: 'active' });
    expect(await rooms.agents.reactivate(context, agent.id)).toMatchObject({ status: 'active' });
    expect(await revokedReason()).toBe('agent_suspended');
    const types = (await readEvents(rooms.database, context.tenant.id)).map(({ type }) => type);
    expect(types.filter((type) => /suspended|reactivated/.test(type))).toEqual([
      'admin.agent.suspended',
      'admin.agent.reactivated',
    ]);
  });
});

describe('deleting an agent', () => {
  it('hides it, ends its tokens, frees its unrevoked keys and keeps the revoked ones taken', async () => {
    context = await createTestTenant(rooms);
    const { agent, key, algorithm, publicKey } = await createTestAgent(rooms, context);
    const publicKeyText = Buffer.from(publicKey.raw).toString('base64');
    const other = await createTestAgent(rooms, context);
    await rooms.keys.revoke(context, other.agent.id, other.key.id);
    const revokedReason = await insertRefreshToken(rooms, context, { agentId: agent.id, keyId: key.id });
    await rooms.agents.remove(context, agent.id);
    await rooms.agents.remove(context, other.agent.id);
    await expect(rooms.agents.get(context, agent.id)).rejects.toMatchObject(notFound);
    await expect(rooms.agents.remove(context, agent.id)).rejects.toMatchObject(notFound);
    await expect(rooms.keys.list(context, agent.id, { limit: 10 })).rejects.toMatchObject(notFound);
    expect((await rooms.agents.list(context, { limit: 10 })).data).toEqual([]);
    expect(await revokedReason()).toBe('agent_deleted');
    const heir = await rooms.agents.create(context, { name: 'Heir' });
    await rooms.keys.register(context, heir.id, { algorithm, publicKey: publicKeyText });
    await expect(
      rooms.keys.register(context, heir.id, {
        algorithm,
        publicKey: Buffer.from(other.publicKey.raw).toString('base64'),
      }),
    ).rejects.toMatchObject({ code: 'key_exists' });
    const events = await readEvents(rooms.database, context.tenant.id);
    expect(events.filter(({ type }) => type === 'admin.agent.deleted')[0]?.data).toMatchObject({
      agent_id: agent.id,
      name: agent.name,
      status: 'deleted',
    });
    const audited = await readAudit(rooms.database, context.tenant.id);
    expect(audited.filter(({ target_id }) => target_id === agent.id).map(({ action }) => action)).toEqual([
      'agent.created',
      'agent.deleted',
    ]);
  });
});
