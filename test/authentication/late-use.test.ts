// What ends while a use of it waits for a locked row is not used any more: the statement that uses it compares the time
// after its wait.
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { RequestContext } from '../../src/platform/context.ts';
import { createRooms, createTestAgent, createTestTenant } from '../identity/agents/agent-rooms.ts';
import { createEnrollee, proveFreshKey } from '../identity/enrollments/enrolling.ts';
import { beginRotation } from '../identity/keys/rotation-case.ts';
import { createPatientDatabase, useTestDatabase } from '../setup/database.ts';
import { countLockWaits } from '../setup/lock-waits.ts';
import { answer, ask } from './challenges/answer.ts';
import { createDelegationRooms, findForExchange } from './delegations/delegation-rooms.ts';
import { codeOf, issueFirst, refresh } from './tokens/refresh-fixture.ts';

const test = await useTestDatabase();
let context: RequestContext;

const database = createPatientDatabase({ url: test.url, pool: 10, applicationName: 'late-use' });
const rooms = createDelegationRooms(database);
const holder = new pg.Client({ connectionString: test.url });
await holder.connect();
afterAll(async () => {
  await holder.end();
  await rooms.verifier.close();
  await database.close();
});
beforeEach(async () => {
  context = await createTestTenant(rooms);
});

/**
 * Locks a row on a connection of its own, begins a use, and lets go when the use has waited until `seconds` from now.
 * @returns the use, and the time of the database before the lock was released
 */
async function useBehindLock<T>(
  { table, id, seconds }: { table: string; id: string; seconds: number },
  begin: () => Promise<T>,
): Promise<{ used: Promise<T>; releasedAt: Date }> {
  await holder.query('BEGIN');
  await holder.query(`SELECT 1 FROM ${table} WHERE id = $1 FOR UPDATE`, [id]);
  const used = begin();
  used.catch(() => undefined);
  await expect.poll(() => countLockWaits(holder, 'late-use')).toBeGreaterThan(0);
  const { rows } = await holder.query<{ at: Date }>(
    `SELECT clock_timestamp() AS at FROM pg_sleep(extract(epoch FROM now() + make_interval(secs => $1) - clock_timestamp()))`,
    [seconds],
  );
  await holder.query('ROLLBACK');
  return { used, releasedAt: rows[0]?.at as Date };
}

/** Lets a row end two seconds from now, and its use wait for three. */
const END = "now() + interval '2 s'";
const WAIT = 3;

const deprecate = (keyId: string) =>
  holder.query(
    `UPDATE agent_keys SET state = 'deprecated', deprecated_at = now(), sunset_at = ${END} WHERE id = $1`,
    [keyId],
  );

describe('a use that waited beyond the end', () => {
  it('of a key consumes no challenge', async () => {
    const agent = await createTestAgent(rooms, context);
    const input = answer(await ask(rooms, context, agent.fingerprint), agent);
    await deprecate(agent.key.id);
    const place = { table: 'agent_keys', id: agent.key.id, seconds: WAIT };
    const { used } = await useBehindLock(place, () => rooms.challenges.verify(context, input));
    expect(await codeOf(used)).toBe('key_revoked');
  });

  it('of a challenge does not consume it', async () => {
    const brief = createRooms(database, { accounts: rooms, challengeLifetime: 2 });
    const agent = await createTestAgent(brief, context);
    const input = answer(await ask(brief, context, agent.fingerprint), agent);
    const place = { table: 'challenges', id: input.challengeId, seconds: WAIT };
    const { used } = await useBehindLock(place, () => brief.challenges.verify(context, input));
    expect(await codeOf(used)).toBe('challenge_expired');
    await brief.verifier.close();
  });

  it('of a key rotates no refresh token', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const { refreshToken } = await issueFirst(rooms, context, { agentId: agent.id, keyId: key.id });
    await deprecate(key.id);
    const place = { table: 'agent_keys', id: key.id, seconds: WAIT };
    const { used } = await useBehindLock(place, () => refresh(rooms, context, refreshToken));
    expect(await codeOf(used)).toBe('invalid_grant');
  });

  it('of a delegation finds it expired', async () => {
    const { agent } = await createTestAgent(rooms, context);
    const subject = { issuer: context.tenant.issuerUrl, sub: randomUUID() };
    const user = await database.transaction({}, (unit) => rooms.users.keep(unit, context.tenant.id, subject));
    const { rows } = await holder.query<{ id: string }>(
      `INSERT INTO delegations (id, tenant_id, agent_id, user_id, scopes, expires_at)
       VALUES (gen_random_uuid(), $1, $2, $3, '{openid}', ${END}) RETURNING id`,
      [context.tenant.id, agent.id, user.id],
    );
    const place = { table: 'delegations', id: rows[0]?.id ?? '', seconds: WAIT };
    const { used } = await useBehindLock(place, () =>
      database.transaction({}, (unit) =>
        findForExchange(rooms, unit, context.tenant, { subject, agentId: agent.id }),
      ),
    );
    expect(await codeOf(used)).toBe('delegation_expired');
  });

  it('of an enrollment token registers no key', async () => {
    const { agent, token, enrollment, owner } = await createEnrollee(rooms, context);
    await holder.query(`UPDATE enrollment_tokens SET expires_at = ${END} WHERE id = $1`, [enrollment.id]);
    const place = { table: 'enrollment_tokens', id: enrollment.id, seconds: WAIT };
    const { used } = await useBehindLock(place, () =>
      rooms.enrollments.enroll({ ...context, principal: undefined }, { ...proveFreshKey(owner), token }),
    );
    expect(await codeOf(used)).not.toBe('accepted');
    expect((await rooms.keys.listUsable(context, agent.id)).length).toBe(0);
  });
});

describe('a sunset is at least a second after the lock that excludes uses of the key', () => {
  const SECOND = 1_000;
  /** The database's microseconds are cut. */
  const CUT = 1;

  it('when the key is deprecated', async () => {
    const { agent, key } = await createTestAgent(rooms, context);
    const { used, releasedAt } = await useBehindLock({ table: 'agent_keys', id: key.id, seconds: WAIT }, () =>
      rooms.keys.deprecate(context, agent.id, key.id, { sunsetAfterSeconds: 1 }),
    );
    const sunset = (await used).sunsetAt?.getTime() ?? 0;
    expect(sunset).toBeGreaterThanOrEqual(releasedAt.getTime() + SECOND - CUT);
  });

  it('when a rotation notices the switch', async () => {
    const { oldKey, useNew, readKey } = await beginRotation(rooms, context, { overlapSeconds: 1 });
    await useNew();
    const name = { tenantId: context.tenant.id, keyId: oldKey.id };
    const place = { table: 'agent_keys', id: oldKey.id, seconds: WAIT };
    const { used, releasedAt } = await useBehindLock(place, () =>
      rooms.rotationSteps.perform(name, 'switch'),
    );
    expect((await used).key).toBe('deprecated');
    const sunset = (await readKey(oldKey.id)).sunsetAt?.getTime() ?? 0;
    expect(sunset).toBeGreaterThanOrEqual(releasedAt.getTime() + SECOND - CUT);
  });
});
