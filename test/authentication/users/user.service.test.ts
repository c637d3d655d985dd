// Users over a real database: one row for a name, a key for each, and what is left when a user is forgotten while
// others work in the user's name.
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { openRecords } from '../../../src/audit/named-users.service.ts';
import { UserService } from '../../../src/authentication/users/user.service.ts';
import { UserForgettingService } from '../../../src/authentication/users/user-forgetting.service.ts';
import { SEALED_USERS, UserSealing } from '../../../src/authentication/users/user-sealing.service.ts';
import { SealedSecretService } from '../../../src/operations/master-keys/sealed-secret.service.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import {
  createTestAgent,
  createTestTenant,
  readAudit,
  readEvents,
} from '../../identity/agents/agent-rooms.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { countLockWaits } from '../../setup/lock-waits.ts';
import { createDelegationRooms, findForExchange } from '../delegations/delegation-rooms.ts';

const { database } = await useTestDatabase();
const rooms = createDelegationRooms(database);
const forgetting = new UserForgettingService({ ...rooms, tokens: rooms.revocations });
const { users, delegations } = rooms;

const context = await createTestTenant(rooms);
const { agent } = await createTestAgent(rooms, context, { scopes: ['openid', 'email'] });
const agentId = agent.id;

const newSubject = () => ({ issuer: 'https://idp.example', sub: newId() });
const keep = (subject: ReturnType<typeof newSubject>, service = users) =>
  database.transaction({}, (unit) => service.keep(unit, context.tenant.id, subject));
const delegate = (subject: ReturnType<typeof newSubject>, at = context) =>
  delegations.create(at, {
    subject,
    agentId,
    scopes: ['openid'],
    expiresAt: new Date(Date.now() + 3_600_000),
  });
const find = (subject: ReturnType<typeof newSubject>) =>
  database.transaction({}, (unit) => findForExchange(rooms, unit, context.tenant, { subject, agentId }));
const newKey = () => ({ id: randomBytes(4).toString('hex'), key: randomBytes(32) });

describe('a user', () => {
  it('has one row, however many meet the name for the first time together', async () => {
    const subject = newSubject();
    const met = await Promise.all(Array.from({ length: 6 }, () => keep(subject)));
    expect(new Set(met.map(({ id }) => id)).size).toBe(1);
    expect(met[0]).toMatchObject(subject);
    expect((await keep({ ...subject, issuer: 'https://other.example' })).id).not.toBe(met[0]?.id);
  });

  it('is another one in another tenant', async () => {
    const other = await createTestTenant(rooms);
    const subject = newSubject();
    const { id } = await keep(subject);
    expect((await users.list(other.tenant.id, [id])).size).toBe(0);
    const theirs = await database.transaction({}, (unit) => users.keep(unit, other.tenant.id, subject));
    expect(theirs.id).not.toBe(id);
  });

  it('opens what was sealed for this user, and for nobody else', async () => {
    const [ada, eve] = [await keep(newSubject()), await keep(newSubject())];
    const sealed = ada.seal('2001:db8::7');
    expect(sealed).not.toContain('2001');
    expect(ada.open(sealed)).toBe('2001:db8::7');
    expect(() => eve.open(sealed)).toThrow('changed, or sealed for another context');
  });

  it('is found under an old master key and a new one, and after sealing anew under the new one alone', async () => {
    const [older, newer] = [newKey(), newKey()];
    const serviceOf = (...masterKeys: (typeof older)[]) => new UserService({ database, masterKeys });
    const subject = newSubject();
    const { id } = await keep(subject, serviceOf(older));
    expect((await keep(subject, serviceOf(newer, older))).id).toBe(id);
    const sealed = new SealedSecretService({
      database,
      columns: SEALED_USERS,
      masterKeys: [newer, older],
    });
    expect(await sealed.reseal()).toMatchObject({ resealed: 1, refused: 0 });
    expect(await keep(subject, serviceOf(newer))).toMatchObject({ id, ...subject });
  });
});

describe('a user who is forgotten', () => {
  it('ends with all delegations, once, and leaves an entry that names nobody', async () => {
    const subject = newSubject();
    const [first, second] = [await delegate(subject), await delegate(subject)];
    await delegations.revoke(context, first.id, 'asked for');
    const { id } = second.subject;
    expect(await forgetting.forget(context, subject)).toEqual({
      forgotten: true,
      userId: id,
      revokedDelegations: 1,
    });
    expect(await forgetting.forget(context, subject)).toEqual({
      forgotten: false,
      userId: null,
      revokedDelegations: 0,
    });
    const audit = await readAudit(database, context.tenant.id);
    expect(audit.filter(({ action }) => action === 'user.forgotten')).toMatchObject([
      { target_id: id, data: { revoked_delegations: 1 } },
    ]);
    expect(JSON.stringify(audit)).not.toContain(subject.sub);
    const events = (await readEvents(database, context.tenant.id)).filter(
      ({ data }) => (data as Record<string, unknown>).delegation_id === second.id,
    );
    expect(events).toMatchObject([{ type: 'admin.delegation.revoked', data: { subject_id: id } }]);
    expect(await delegations.get(context, first.id)).toMatchObject({
      status: 'revoked',
      revokedReason: null,
      subject: { id, issuer: null, sub: null },
    });
    await expect(find(subject)).rejects.toMatchObject({ code: 'invalid_grant' });
  });

  it('waits for an exchange under way, whose token ends with the user', async () => {
    const subject = newSubject();
    const { subject: user } = await delegate(subject);
    let forgotten: Promise<unknown> = Promise.resolve();
    await database.transaction({}, async (unit) => {
      await findForExchange(rooms, unit, context.tenant, { subject, agentId });
      const before = await countLockWaits(database);
      forgotten = forgetting.forget(context, subject);
      await expect.poll(() => countLockWaits(database)).toBeGreaterThan(before);
    });
    expect(await forgotten).toMatchObject({ forgotten: true, revokedDelegations: 1 });
    const { rows } = await database.query('SELECT 1 FROM revocations WHERE principal = $1', [user.id]);
    expect(rows).toHaveLength(1);
  });

  it('takes a delegation along that was being made, and one that comes later is of another user', async () => {
    const subject = newSubject();
    const { subject: user } = await delegate(subject);
    let forgotten: Promise<unknown> = Promise.resolve();
    await database.transaction({}, async (transaction) => {
      await delegate(subject, { ...context, transaction });
      const before = await countLockWaits(database);
      forgotten = forgetting.forget(context, subject);
      await expect.poll(() => countLockWaits(database)).toBeGreaterThan(before);
    });
    expect(await forgotten).toMatchObject({ forgotten: true, revokedDelegations: 2 });
    const later = await delegate(subject);
    expect(later.subject).toMatchObject(subject);
    expect(later.subject.id).not.toBe(user.id);
    expect((await find(subject)).delegation.id).toBe(later.id);
  });

  it('has two rows where processes had other master keys, and loses both', async () => {
    const subject = newSubject();
    const strange = new UserSealing({ masterKeys: rooms.masterKeys });
    for (let twin = 0; twin < 2; twin += 1) {
      const { id, tenantId, nameSealed, keySealed } = strange.create(context.tenant.id, subject);
      await database.query(
        'INSERT INTO users (id, tenant_id, name, key_sealed, digest) VALUES ($1, $2, $3, $4, $5)',
        [id, tenantId, nameSealed, keySealed, strange.digestsOf(tenantId, subject)[0]],
      );
    }
    await delegate(subject);
    expect(await forgetting.forget(context, subject)).toMatchObject({ revokedDelegations: 1 });
    expect(await forgetting.forget(context, subject)).toMatchObject({ forgotten: false });
  });

  it('with a thousand delegations goes in one transaction', async () => {
    const subject = newSubject();
    const { id } = await keep(subject);
    await database.query(
      `INSERT INTO delegations (id, tenant_id, agent_id, user_id, scopes, expires_at)
       SELECT gen_random_uuid(), $1, $2, $3, '{openid}', now() + interval '1 hour' FROM generate_series(1, 1000)`,
      [context.tenant.id, agentId, id],
    );
    expect(await forgetting.forget(context, subject)).toMatchObject({ revokedDelegations: 1000 });
  });
});

it('an entry is opened while the key is there; a text that only looks sealed is left to users', async () => {
  const user = await keep(newSubject());
  const entry = (address: string, data: Record<string, unknown>) =>
    ({ address, data }) as unknown as Parameters<typeof openRecords>[2][number];
  const lines = [
    entry(user.seal('192.0.2.7'), { subject_id: user.id, reason: user.seal('why') }),
    entry('192.0.2.8', { reason: 'sealed:not' }),
  ];
  const { issuer, sub, id } = user;
  expect(await openRecords(users, context.tenant.id, lines)).toEqual([
    { address: '192.0.2.7', data: { subject_id: id, reason: 'why' }, user: { id, issuer, sub } },
    { address: '192.0.2.8', data: { reason: 'sealed:not' }, user: null },
  ]);
  await forgetting.forget(context, { issuer, sub });
  expect((await openRecords(users, context.tenant.id, lines))[0]).toEqual({
    address: 'forgotten',
    data: { subject_id: id, reason: 'forgotten' },
    user: { id, issuer: null, sub: null },
  });
});
