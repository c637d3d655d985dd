// Delegations over a real database: creation, revocation, and what an exchange finds, also while both happen together.
import { describe, expect, it } from 'vitest';
import type { NewDelegation } from '../../../src/authentication/delegations/delegation.service.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import {
  createTestAgent,
  createTestTenant,
  readAudit,
  readEvents,
} from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { countLockWaits } from '../../setup/lock-waits.ts';
import { createDelegationRooms, findForExchange, type Sought } from './delegation-rooms.ts';

const { database } = await useTestDatabase();
const rooms = createDelegationRooms(database);
const context = await createTestTenant(rooms);
const { id: agentId } = (await createTestAgent(rooms, context, { scopes: ['openid', 'email', 'vault:read'] }))
  .agent;
const AUDIENCES = ['api', 'wide', 'narrow'];
await rooms.agents.update(context, agentId, { audiences: AUDIENCES });

const HOUR = 3_600_000;
const inFuture = (milliseconds = HOUR) => new Date(Date.now() + milliseconds);
let users = 0;
const newUser = () => ({ issuer: 'https://idp.example', sub: `user-${++users}` });
const create = (input: Partial<NewDelegation> = {}) =>
  rooms.delegations.create(context, {
    subject: newUser(),
    agentId,
    scopes: ['openid', 'email'],
    expiresAt: inFuture(),
    ...input,
  });
const find = (request: Sought, tenant = context.tenant) =>
  database.transaction({}, (unit) => findForExchange(rooms, unit, tenant, request));
const makeExpired = (id: string) =>
  database.query("UPDATE delegations SET expires_at = now() - interval '1 second' WHERE id = $1", [id]);
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'accepted',
    (error) => error.code,
  );
/** A promise is pending while its session waits for the lock that the test holds. */
const waits = () => expect.poll(() => countLockWaits(database)).toBeGreaterThan(0);

describe('a delegation', () => {
  it('is active until it expires, which nothing has to write down', async () => {
    const created = await create({ scopes: ['openid', 'email'], audience: 'api' });
    expect(created).toMatchObject({
      agentId,
      scopes: ['email', 'openid'],
      audience: 'api',
      status: 'active',
    });
    await makeExpired(created.id);
    expect((await rooms.delegations.get(context, created.id)).status).toBe('expired');
    const { rows } = await database.query<Record<string, unknown>>(
      'SELECT * FROM delegations WHERE id = $1',
      [created.id],
    );
    expect(Object.keys(rows[0] ?? {})).not.toContain('status');
  });

  it.each([
    ['body.expires_at', { expiresAt: inFuture(-1) }],
    ['body.expires_at', { expiresAt: inFuture(367 * 24 * HOUR) }],
    ['body.agent_id', { agentId: newId() }],
    ['body.audience', { audience: 'https://bank.example' }],
    ['body.scopes.1', { scopes: ['openid', 'wallet:sign'] }],
    ['body.subject.issuer', { subject: { issuer: 'http://idp.example', sub: 'a' } }],
    ['body.subject.issuer', { subject: { issuer: 'idp', sub: 'a' } }],
  ])('is refused naming %s for %j', async (path, input) => {
    await expect(create(input)).rejects.toMatchObject({ code: 'invalid_request', errors: [{ path }] });
  });

  it('may last a year, and be for a user of the own issuer', async () => {
    const subject = { issuer: context.tenant.issuerUrl, sub: 'a' };
    expect(await codeOf(create({ subject, expiresAt: inFuture(364 * 24 * HOUR) }))).toBe('accepted');
  });

  it("belongs to an agent of the same tenant, and is unknown to others'", async () => {
    const other = await createTestTenant(rooms);
    const foreign = (await createTestAgent(rooms, other)).agent;
    await expect(create({ agentId: foreign.id })).rejects.toMatchObject({ code: 'invalid_request' });
    const subject = newUser();
    const { id } = await create({ subject });
    expect(await codeOf(rooms.delegations.get(other, id))).toBe('not_found');
    expect(await codeOf(rooms.delegations.revoke(other, id))).toBe('not_found');
    expect((await rooms.delegations.list(other, { limit: 200 })).data).toEqual([]);
    expect(await codeOf(find({ subject, agentId }, other.tenant))).toBe('invalid_grant');
    expect((await rooms.delegations.get(context, id)).status).toBe('active');
  });

  it('is revoked once, with one audit entry and one event', async () => {
    const subject = newUser();
    const { id } = await create({ subject });
    const { receiptId, ...revoked } = await rooms.delegations.revoke(context, id, 'asked by the user');
    expect(receiptId).toMatch(/^[\w-]{36}$/);
    expect(revoked).toMatchObject({ status: 'revoked', revokedReason: 'asked by the user' });
    expect(revoked.revokedAt).toBeInstanceOf(Date);
    const again = await Promise.all([1, 2, 3].map(() => rooms.delegations.revoke(context, id, 'other')));
    for (const answer of again) expect(answer).toEqual(revoked);
    const events = (await readEvents(database, context.tenant.id)).filter(
      ({ data }) => data.delegation_id === id,
    );
    expect(events).toEqual([
      {
        type: 'admin.delegation.revoked',
        data: {
          delegation_id: id,
          agent_id: agentId,
          subject_id: expect.any(String),
          scopes: ['email', 'openid'],
        },
      },
    ]);
    const audit = (await readAudit(database, context.tenant.id)).filter((entry) => entry.target_id === id);
    expect(audit.map(({ action }) => action)).toEqual(['delegation.created', 'delegation.revoked']);
    expect(JSON.stringify(audit)).not.toContain(subject.sub);
  });

  it('ends with its agent', async () => {
    const { agent } = await createTestAgent(rooms, context);
    const subject = newUser();
    const { id } = await create({ agentId: agent.id, subject });
    await rooms.agents.remove(context, agent.id);
    expect(await rooms.delegations.get(context, id)).toMatchObject({
      status: 'revoked',
      revokedReason: 'agent_deleted',
      revokedAt: expect.any(Date),
    });
    expect(await codeOf(find({ subject, agentId: agent.id }))).toBe('invalid_grant');
  });

  it('is listed by agent, state and user, page by page', async () => {
    const { agent } = await createTestAgent(rooms, context);
    const mine = { agentId: agent.id };
    const subject = newUser();
    const made = [
      await create(mine),
      await create({ ...mine, subject }),
      await create(mine),
      await create(mine),
    ];
    const [active = '', ofUser = '', expired = '', revoked = ''] = made.map(({ id }) => id);
    await makeExpired(expired);
    await rooms.delegations.revoke(context, revoked);
    const list = async (filters: object) =>
      (await rooms.delegations.list(context, { limit: 200, ...mine, ...filters })).data.map(({ id }) => id);
    expect(await list({})).toEqual([revoked, expired, ofUser, active]);
    expect(await list({ status: 'active' })).toEqual([ofUser, active]);
    expect(await list({ status: 'expired' })).toEqual([expired]);
    expect(await list({ status: 'revoked' })).toEqual([revoked]);
    expect(await list({ subjectIssuer: subject.issuer, subjectSub: subject.sub })).toEqual([ofUser]);
    expect(await list({ subjectIssuer: subject.issuer, subjectSub: 'nobody' })).toEqual([]);
    const first = await rooms.delegations.list(context, { limit: 3, ...mine });
    expect(first.data).toHaveLength(3);
    const rest = await rooms.delegations.list(context, { limit: 3, ...mine, cursor: first.nextCursor ?? '' });
    expect([rest.data.map(({ id }) => id), rest.nextCursor]).toEqual([[active], null]);
  });
});

describe('an exchange', () => {
  it('finds the delegation with its agent', async () => {
    const subject = newUser();
    const { id } = await create({ subject, audience: 'api' });
    const found = await find({ subject, agentId, scopes: ['email'], audience: 'api' });
    expect(found).toEqual({
      delegation: {
        id,
        scopes: ['email', 'openid'],
        audience: 'api',
        status: 'active',
        expiresAt: expect.any(Date),
      },
      agent: {
        id: agentId,
        name: 'Robot',
        capabilities: ['web', 'mcp'],
        scopes: ['openid', 'email', 'vault:read'],
        audience: null,
        audiences: AUDIENCES,
        dpopBoundAccessTokens: false,
      },
      user: expect.anything(),
    });
    expect(rooms.users.open(found.user)).toMatchObject(subject);
    expect((await find({ subject, agentId })).delegation.id).toBe(id);
  });

  it('takes the one that includes what is asked for, among several', async () => {
    const subject = newUser();
    const wide = await create({ subject, scopes: ['openid', 'vault:read'], audience: 'wide' });
    const narrow = await create({ subject, scopes: ['openid'], audience: 'narrow' });
    const revoked = await create({ subject, scopes: ['openid', 'vault:read'] });
    await rooms.delegations.revoke(context, revoked.id);
    const idFor = async (asked: Pick<Sought, 'scopes' | 'audience'>) =>
      (await find({ subject, agentId, ...asked })).delegation.id;
    expect(await idFor({ scopes: ['vault:read'] })).toBe(wide.id);
    expect(await idFor({ audience: 'narrow' })).toBe(narrow.id);
    expect(await idFor({ scopes: ['openid'], audience: 'wide' })).toBe(wide.id);
    expect(await idFor({})).toBe(narrow.id);
    expect(await codeOf(find({ subject, agentId, scopes: ['email'] }))).toBe('invalid_scope');
    expect(await codeOf(find({ subject, agentId, audience: 'strange' }))).toBe('invalid_target');
  });

  it('is told why there is none', async () => {
    const subject = newUser();
    const request = { subject, agentId };
    expect(await codeOf(find(request))).toBe('invalid_grant');
    const first = await create({ subject });
    await makeExpired(first.id);
    expect(await codeOf(find(request))).toBe('delegation_expired');
    await rooms.delegations.revoke(context, first.id);
    expect(await codeOf(find(request))).toBe('invalid_grant');
    const second = await create({ subject });
    expect(await codeOf(find(request))).toBe('accepted');
    expect(await codeOf(find({ ...request, subject: { ...subject, issuer: 'https://other.example' } }))).toBe(
      'invalid_grant',
    );
    expect(await codeOf(find({ ...request, agentId: newId() }))).toBe('invalid_grant');
    await makeExpired(second.id);
    expect(await codeOf(find(request))).toBe('delegation_expired');
  });

  it('is refused while the agent, or one that the authority came through, is suspended or gone', async () => {
    const { agent } = await createTestAgent(rooms, context);
    const link = (await createTestAgent(rooms, context)).agent;
    const foreign = (await createTestAgent(rooms, await createTestTenant(rooms))).agent;
    const subject = newUser();
    await create({ subject, agentId: agent.id });
    const request = { subject, agentId: agent.id, links: [link.id, link.id] };
    expect(await codeOf(find(request))).toBe('accepted');
    await rooms.agents.suspend(context, link.id);
    expect(await codeOf(find(request))).toBe('policy_denied');
    await rooms.agents.reactivate(context, link.id);
    expect(await codeOf(find(request))).toBe('accepted');
    await rooms.agents.suspend(context, agent.id);
    expect(await codeOf(find(request))).toBe('policy_denied');
    await rooms.agents.reactivate(context, agent.id);
    expect(await codeOf(find({ ...request, links: [foreign.id] }))).toBe('policy_denied');
    await rooms.agents.remove(context, link.id);
    expect(await codeOf(find(request))).toBe('policy_denied');
  });
});

describe('a revocation and an exchange at the same time', () => {
  it('the revocation waits for an exchange under way, and the exchange after it is refused', async () => {
    const subject = newUser();
    const { id } = await create({ subject });
    let revoking: Promise<unknown> = Promise.resolve();
    await database.transaction({}, async (unit) => {
      await findForExchange(rooms, unit, context.tenant, { subject, agentId });
      revoking = rooms.delegations.revoke(context, id);
      await waits();
    });
    await revoking;
    expect(await codeOf(find({ subject, agentId }))).toBe('invalid_grant');
  });

  it('an exchange waits for a revocation under way, and is refused by it', async () => {
    const subject = newUser();
    const { id } = await create({ subject });
    let exchange: Promise<string> = Promise.resolve('');
    await database.transaction({}, async (transaction) => {
      await rooms.delegations.revoke({ ...context, transaction }, id);
      exchange = codeOf(find({ subject, agentId }));
      await waits();
    });
    expect(await exchange).toBe('invalid_grant');
  });

  it('an exchange waits for a suspension under way, and is refused by it', async () => {
    const { agent } = await createTestAgent(rooms, context);
    const subject = newUser();
    await create({ subject, agentId: agent.id });
    let exchange: Promise<string> = Promise.resolve('');
    await database.transaction({}, async (transaction) => {
      await rooms.agents.suspend({ ...context, transaction }, agent.id);
      exchange = codeOf(find({ subject, agentId: agent.id }));
      await waits();
    });
    expect(await exchange).toBe('policy_denied');
  });

  it('no exchange that began after the revocation was answered succeeds', async () => {
    const subject = newUser();
    const { id } = await create({ subject });
    let revokedAt = Number.POSITIVE_INFINITY;
    const exchanges = Array.from({ length: 40 }, async (_, index) => {
      await new Promise((resolve) => setTimeout(resolve, index * 2));
      const beganAt = performance.now();
      return { beganAt, code: await codeOf(find({ subject, agentId })) };
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await rooms.delegations.revoke(context, id);
    revokedAt = performance.now();
    const ended = await Promise.all(exchanges);
    for (const { beganAt, code } of ended) {
      expect(['accepted', 'invalid_grant']).toContain(code);
      if (beganAt > revokedAt) expect(code).toBe('invalid_grant');
    }
    expect(await codeOf(find({ subject, agentId }))).toBe('invalid_grant');
  });
});
