// Enrollment against a real database: what a token does, what ends it, what is recorded, and races.
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { RequestContext } from '../../../src/platform/context.ts';
import { KEY_ALGORITHMS } from '../../../src/platform/crypto/algorithm.ts';
import { answer, ask } from '../../authentication/challenges/answer.ts';
import { codeOf } from '../../authentication/tokens/refresh-fixture.ts';
import { createPatientDatabase, useTestDatabase } from '../../setup/database.ts';
import { createRooms, createTestTenant, type Rooms, readAudit, readEvents } from '../agents/agent-rooms.ts';
import { createEnrollee, proveFreshKey, proveKey } from './enrolling.ts';

let admin: RequestContext;
/** A request without a token, as agents send it. */
let context: RequestContext;

const { database, url } = await useTestDatabase();
const second = createPatientDatabase({ url, pool: 10, applicationName: 'test-second' });
const rooms = createRooms(database);
const elsewhere = createRooms(second, { accounts: { ...rooms, database: second } });
beforeEach(async () => {
  admin = await createTestTenant(rooms);
  context = { ...admin, principal: undefined };
});
afterAll(async () => {
  await Promise.all([rooms, elsewhere].map(({ verifier }) => verifier.close()));
  await second.close();
});

const audited = async () =>
  (await readAudit(rooms.database, context.tenant.id)).filter(({ action }) =>
    /^(agent\.[a-z_]+|security)\./.test(action),
  );
const enroll = (input: Parameters<Rooms['enrollments']['enroll']>[1]) =>
  rooms.enrollments.enroll(context, input);

describe.each(KEY_ALGORITHMS)('an agent with a key of %s', (algorithm) => {
  it('registers it with a token, verified by its proof, and authenticates with it', async () => {
    const { agent, token, owner } = await createEnrollee(rooms, admin);
    const signer = proveFreshKey(owner, { algorithm });
    const key = await enroll({ ...signer, token, label: 'own' });
    expect(key).toMatchObject({ agentId: agent.id, algorithm, label: 'own', state: 'active' });
    expect(key.verifiedAt).toBeInstanceOf(Date);
    expect((await rooms.agents.get(admin, agent.id)).registration).toMatchObject({
      verified: true,
      audited: true,
    });
    const challenge = await ask(rooms, context, signer.fingerprint);
    await rooms.challenges.verify(context, answer(challenge, signer));
  });
});

describe('a token', () => {
  it('is stored as a hash only, and lives for an hour', async () => {
    const { enrollment, token } = await createEnrollee(rooms, admin);
    expect(token).toMatch(/^enroll_[\w-]{43}$/);
    expect(enrollment.expiresAt.getTime() - enrollment.createdAt.getTime()).toBe(3_600_000);
    const { rows } = await rooms.database.query<Record<string, unknown>>(
      'SELECT *, hash = sha256($2::text::bytea) AS is_hash FROM enrollment_tokens WHERE id = $1',
      [enrollment.id, token],
    );
    expect(rows).toEqual([expect.objectContaining({ is_hash: true, used_at: null })]);
    const { hash: _, ...rest } = rows[0] ?? {};
    expect(JSON.stringify(rest)).not.toContain(token.slice(7));
  });

  it('is good for one key', async () => {
    const { token, owner } = await createEnrollee(rooms, admin);
    const signer = proveFreshKey(owner);
    await enroll({ ...signer, token });
    expect(await codeOf(enroll({ ...signer, token }))).toBe('invalid_grant');
    expect(await codeOf(enroll({ ...proveFreshKey(owner), token }))).toBe('invalid_grant');
  });

  it('is not used up by a wrong proof, a malformed key, or a key that somebody has', async () => {
    const { token, owner } = await createEnrollee(rooms, admin);
    const stranger = await createEnrollee(rooms, admin);
    const theirs = proveFreshKey(stranger.owner);
    await enroll({ ...theirs, token: stranger.token });
    const fresh = proveFreshKey(owner);
    for (const input of [
      proveFreshKey(stranger.owner),
      proveFreshKey(owner, { tenantId: stranger.agent.id }),
      { ...fresh, proof: 'AAAA' },
      { ...fresh, proof: proveFreshKey(owner).proof },
      { ...fresh, publicKey: '00' },
    ])
      expect(await codeOf(enroll({ ...input, token }))).toBe('invalid_request');
    const wrong = enroll({ ...fresh, proof: 'AAAA', token });
    await expect(wrong).rejects.toMatchObject({ errors: [{ path: 'body.proof' }] });
    const taken = { publicKey: theirs.publicKey, algorithm: theirs.algorithm };
    await rooms.keys.revoke(admin, stranger.agent.id, await keyIdOf(stranger.agent.id));
    expect(await codeOf(enroll({ ...taken, proof: proveKey(owner, theirs), token }))).toBe('key_exists');
    expect(await codeOf(enroll({ ...fresh, token }))).toBe('accepted');
  });

  it('is of no use once it is revoked or its hour is over, nor in another tenant', async () => {
    const { agent, enrollment, token, owner } = await createEnrollee(rooms, admin);
    const other = await createTestTenant(rooms);
    const signer = proveFreshKey(owner);
    expect(await codeOf(rooms.enrollments.enroll(other, { ...signer, token }))).toBe('invalid_grant');
    await rooms.database.query(
      "UPDATE enrollment_tokens SET expires_at = now() - interval '1 ms' WHERE id = $1",
      [enrollment.id],
    );
    await expect(enroll({ ...signer, token })).rejects.toMatchObject({
      code: 'invalid_grant',
      detail: expect.stringContaining('expired'),
    });
    const { enrollment: next, token: text } = await rooms.enrollments.create(admin, agent.id);
    await rooms.enrollments.revoke(admin, agent.id, next.id);
    expect(await codeOf(enroll({ ...signer, token: text }))).toBe('invalid_grant');
    expect(await codeOf(enroll({ ...signer, token: 'enroll_x' }))).toBe('invalid_grant');
  });

  it('is refused while its agent is suspended, and for ever once that is deleted', async () => {
    const { agent, token, owner } = await createEnrollee(rooms, admin);
    const signer = proveFreshKey(owner);
    await rooms.agents.suspend(admin, agent.id);
    expect(await codeOf(enroll({ ...signer, token }))).toBe('policy_denied');
    await rooms.agents.reactivate(admin, agent.id);
    await rooms.agents.remove(admin, agent.id);
    expect(await codeOf(enroll({ ...signer, token }))).toBe('invalid_grant');
  });

  it.each([
    ['suspended', 'suspend', 'policy_denied'],
    ['deleted', 'remove', 'invalid_grant'],
  ] as const)(
    'registers nothing for an agent that is %s while the proof is checked',
    async (_, change, code) => {
      const { agent, token, owner } = await createEnrollee(rooms, admin);
      const { verifySignature } = rooms.verifier;
      const verifier = vi.spyOn(rooms.verifier, 'verifySignature').mockImplementationOnce(async (input) => {
        await rooms.agents[change](admin, agent.id);
        return verifySignature(input);
      });
      expect(await codeOf(enroll({ ...proveFreshKey(owner), token }))).toBe(code);
      expect(verifier).toHaveBeenCalledOnce();
      verifier.mockRestore();
      const { rows } = await rooms.database.query('SELECT 1 FROM agent_keys WHERE agent_id = $1', [agent.id]);
      expect(rows).toEqual([]);
    },
  );

  it('that was used cannot be revoked; one that is revoked or has expired can, without effect', async () => {
    const { agent, enrollment, token, owner } = await createEnrollee(rooms, admin);
    const revoke = (id: string) => codeOf(rooms.enrollments.revoke(admin, agent.id, id));
    await enroll({ ...proveFreshKey(owner), token });
    expect(await revoke(enrollment.id)).toBe('conflict');
    const { enrollment: next } = await rooms.enrollments.create(admin, agent.id);
    const entries = (await audited()).length;
    expect([await revoke(next.id), await revoke(next.id)]).toEqual(['accepted', 'accepted']);
    expect((await audited()).length).toBe(entries + 1);
  });
});

describe('one hundred simultaneous enrollments with one token, through two processes', () => {
  it.each([
    ['of different keys', () => undefined],
    ['of one key', proveFreshKey],
  ])('%s register exactly one; the others get invalid_grant', async (_, shared) => {
    const { agent, token, owner } = await createEnrollee(rooms, admin);
    const one = shared(owner);
    const outcomes = await Promise.all(
      Array.from({ length: 100 }, (_, n) =>
        codeOf(
          (n % 2 === 0 ? rooms : elsewhere).enrollments.enroll(context, {
            ...(one ?? proveFreshKey(owner)),
            token,
          }),
        ),
      ),
    );
    expect(outcomes.filter((outcome) => outcome === 'accepted')).toHaveLength(1);
    // On a machine with much else to do, some wait longer for the token's row than they may, and are to ask again.
    const refused = ['invalid_grant', 'temporarily_unavailable'];
    expect(outcomes.filter((outcome) => refused.includes(outcome))).toHaveLength(99);
    expect(outcomes).toContain('invalid_grant');
    const keys = await rooms.keys.list(admin, agent.id, { limit: 10 });
    expect(keys.data).toHaveLength(1);
    const [stored] = (await rooms.enrollments.list(admin, agent.id, { limit: 10 })).data;
    expect(stored?.keyId).toBe(keys.data[0]?.id);
    const registered = (await readEvents(rooms.database, context.tenant.id)).filter(
      ({ type }) => type === 'admin.agent.key.registered',
    );
    expect(registered).toHaveLength(1);
  });
});

describe('the records', () => {
  it('name who made, used and revoked a token; the events are those of a registration', async () => {
    const { agent, enrollment, token, owner } = await createEnrollee(rooms, admin);
    const { enrollment: spare } = await rooms.enrollments.create(admin, agent.id);
    await rooms.enrollments.revoke(admin, agent.id, spare.id);
    await codeOf(enroll({ ...proveFreshKey(owner), proof: 'AAAA', token }));
    const signer = proveFreshKey(owner);
    const key = await enroll({ ...signer, token });
    const byAdmin = { outcome: 'success', actor_kind: 'application', actor_id: admin.principal?.subject };
    const byAgent = { outcome: 'success', actor_kind: 'agent', actor_id: agent.id, key_id: key.id };
    const ofToken = { target_type: 'enrollment_token', target_id: enrollment.id };
    const data = expect.objectContaining({ agent_id: agent.id });
    expect(await audited()).toEqual(
      [
        { ...byAdmin, ...ofToken, action: 'agent.enrollment_token.created', data },
        { ...byAdmin, action: 'agent.enrollment_token.created', target_id: spare.id },
        { ...byAdmin, action: 'agent.enrollment_token.revoked', target_id: spare.id, data },
        {
          ...ofToken,
          action: 'agent.enrollment_token.used',
          outcome: 'failure',
          reason: 'invalid_request',
          actor_kind: 'anonymous',
        },
        { ...byAgent, action: 'agent.key.registered' },
        { ...byAgent, action: 'agent.key.verified' },
        { ...byAgent, ...ofToken, action: 'agent.enrollment_token.used', address: context.address },
      ].map((entry) => expect.objectContaining(entry)),
    );
    const events = (await readEvents(rooms.database, context.tenant.id)).slice(-2);
    expect(events.map(({ type }) => type)).toEqual([
      'admin.agent.key.registered',
      'admin.agent.key.verified',
    ]);
    for (const event of events)
      expect(event.data).toMatchObject({ agent_id: agent.id, key_fingerprint: signer.fingerprint });
    const told = JSON.stringify([await audited(), events]);
    expect(told).not.toContain(token);
  });

  it('of a registration are there together with the key, or not at all', async () => {
    const { agent, token, owner } = await createEnrollee(rooms, admin);
    const broken = { ...context, requestId: '\0' };
    await expect(rooms.enrollments.enroll(broken, { ...proveFreshKey(owner), token })).rejects.toBeInstanceOf(
      Error,
    );
    expect((await rooms.keys.list(admin, agent.id, { limit: 10 })).data).toEqual([]);
    expect(await codeOf(enroll({ ...proveFreshKey(owner), token }))).toBe('accepted');
  });
});

describe('guessing', () => {
  it('is stopped per token and address and reported once; an agent with the right key still gets in', async () => {
    const limited = createRooms(rooms.database, { accounts: rooms, failuresAllowed: 12 });
    const { agent, enrollment, token, owner } = await createEnrollee(limited, admin);
    const guess = () =>
      codeOf(limited.enrollments.enroll(context, { ...proveFreshKey(owner), proof: 'AAAA', token }));
    const outcomes: string[] = [];
    for (let n = 0; n < 14; n++) outcomes.push(await guess());
    expect(outcomes).toEqual([...Array(12).fill('invalid_request'), 'rate_limited', 'rate_limited']);
    const elsewhereInTheWorld = { ...context, address: '192.0.2.99' };
    const wrong = { ...proveFreshKey(owner), proof: 'AAAA', token };
    expect(await codeOf(limited.enrollments.enroll(elsewhereInTheWorld, wrong))).toBe('invalid_request');
    const alarms = (await readEvents(rooms.database, context.tenant.id)).filter(({ type }) =>
      type.startsWith('security.'),
    );
    expect(alarms).toEqual([
      {
        type: 'security.brute_force.detected',
        data: {
          method: 'enrollment',
          agent_id: agent.id,
          enrollment_token_id: enrollment.id,
          address: context.address,
          failures: 10,
          window_seconds: 60,
        },
      },
    ]);
    const entries = (await audited()).filter(({ outcome }) => outcome === 'failure');
    expect(entries).toHaveLength(12 + 1 + 1);
    expect(await codeOf(limited.enrollments.enroll(context, { ...proveFreshKey(owner), token }))).toBe(
      'accepted',
    );
    // A used token is nobody's guess: it is always answered as what it is.
    for (let n = 0; n < 14; n++) expect(await guess()).toBe('invalid_grant');
  });

  it('at tokens that nobody made is counted by address, and does not stop the right one', async () => {
    const limited = createRooms(rooms.database, { accounts: rooms, failuresAllowed: 3 });
    const { token, owner } = await createEnrollee(limited, admin);
    const signer = proveFreshKey(owner);
    const outcomes: string[] = [];
    for (let n = 0; n < 5; n++)
      outcomes.push(await codeOf(limited.enrollments.enroll(context, { ...signer, token: `enroll_${n}` })));
    expect(outcomes).toEqual([...Array(3).fill('invalid_grant'), 'rate_limited', 'rate_limited']);
    expect(await codeOf(limited.enrollments.enroll(context, { ...signer, token }))).toBe('accepted');
    // Nothing but the attack, which the last failure that is allowed begins.
    expect((await audited()).filter(({ outcome }) => outcome === 'failure')).toMatchObject([
      { action: 'security.brute_force.detected', data: { failures: 3 } },
    ]);
  });
});

async function keyIdOf(agentId: string): Promise<string> {
  const [key] = (await rooms.keys.list(admin, agentId, { limit: 1 })).data;
  return key?.id ?? '';
}
