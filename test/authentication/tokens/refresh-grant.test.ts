// The refresh grant: rotation, the retry of a lost answer, reuse, and everything that ends a token.
import { afterAll, describe, expect, it } from 'vitest';
import { createSuccessorDeriver } from '../../../src/authentication/tokens/refresh-successor.node.ts';
import type { RequestContext } from '../../../src/platform/context.ts';
import { hashSecret } from '../../../src/platform/crypto/opaque-secret.node.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createTestTenant, readAudit, readEvents } from '../../identity/agents/agent-rooms.ts';
import {
  claimsOf,
  codeOf,
  createHolder,
  createTwoProcesses,
  issueFirst,
  refresh,
} from './refresh-fixture.ts';

const processes = await createTwoProcesses();
const rooms = processes.one;
afterAll(() => processes.drop());

const setBack = (column: string, token: string, seconds: number) =>
  processes.database.query(
    `UPDATE refresh_tokens SET ${column} = ${column} - make_interval(secs => $2) WHERE hash = $1`,
    [hashSecret(token), seconds],
  );
const reuses = async ({ tenant }: RequestContext) => ({
  events: (await readEvents(processes.database, tenant.id)).filter(({ type }) => type.includes('reuse'))
    .length,
  audit: (await readAudit(processes.database, tenant.id)).filter(({ action }) => action.includes('reuse'))
    .length,
});

describe('a refresh token', () => {
  it('is exchanged for an access token and a successor, and leaves a record', async () => {
    const { context, agent, key, refreshToken } = await createHolder(rooms);
    const answer = await refresh(rooms, context, refreshToken, { client_id: 'service-agent' });
    expect(answer).toEqual({
      access_token: expect.any(String),
      refresh_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 300,
      scope: 'email openid',
    });
    expect(answer.refresh_token).not.toBe(refreshToken);
    const claims = claimsOf(answer.access_token);
    expect(claims).toMatchObject({
      sub: agent.id,
      client_id: 'service-agent',
      agent: { name: 'Robot', capabilities: ['web', 'mcp'] },
    });
    const issued = (await readAudit(processes.database, context.tenant.id)).at(-1);
    expect(issued).toMatchObject({ action: 'auth.token.issued', key_id: key.id, token_id: claims.jti });
    const event = (await readEvents(processes.database, context.tenant.id)).at(-1);
    expect(event).toMatchObject({ type: 'auth.token.issued', data: { method: 'refresh_token' } });
    expect((await refresh(rooms, context, answer.refresh_token)).scope).toBe('email openid');
  });

  it('gives fewer scopes when asked, once: its successor keeps all of them', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const narrow = await refresh(rooms, context, refreshToken, { scope: 'openid' });
    expect(narrow.scope).toBe('openid');
    expect((await refresh(rooms, context, narrow.refresh_token)).scope).toBe('email openid');
  });

  it('gives no scope that the agent has lost', async () => {
    const { context, agent, refreshToken } = await createHolder(rooms);
    await rooms.agents.update(context, agent.id, { scopes: ['openid'] });
    expect(await codeOf(refresh(rooms, context, refreshToken, { scope: 'email' }))).toBe('invalid_scope');
    expect((await refresh(rooms, context, refreshToken)).scope).toBe('openid');
  });

  it('gives a token for a resource that is an audience of the agent', async () => {
    const { context, agent, refreshToken } = await createHolder(rooms);
    await rooms.agents.update(context, agent.id, { audiences: ['https://api.example.com'] });
    const answer = await refresh(rooms, context, refreshToken, { resource: 'https://api.example.com' });
    expect(claimsOf(answer.access_token).aud).toBe('https://api.example.com');
    const next = await refresh(rooms, context, answer.refresh_token);
    expect(claimsOf(next.access_token).aud).toBe(context.tenant.audience);
  });

  it('is refused, and not spent, once its audience is not the agent’s any more; another one can be named', async () => {
    const { context, agent, refreshToken } = await createHolder(rooms);
    await rooms.agents.update(context, agent.id, { audience: 'https://new.example' });
    expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('invalid_target');
    const { audience } = context.tenant;
    expect(await codeOf(refresh(rooms, context, refreshToken, { resource: audience }))).toBe(
      'invalid_target',
    );
    const answer = await refresh(rooms, context, refreshToken, { resource: 'https://new.example' });
    expect(claimsOf(answer.access_token).aud).toBe('https://new.example');
    await rooms.agents.update(context, agent.id, { audiences: [audience] });
    const next = await refresh(rooms, context, answer.refresh_token);
    expect(claimsOf(next.access_token).aud).toBe(audience);
  });

  it.each([
    ['another client', { client_id: newId() }, 'invalid_client'],
    ['a scope beyond it', { scope: 'openid profile' }, 'invalid_scope'],
    ['a malformed scope', { scope: 'a"b' }, 'invalid_scope'],
    ['a foreign resource', { resource: 'https://evil.example' }, 'invalid_target'],
    ['a malformed resource', { resource: 'no address' }, 'invalid_target'],
  ])('is refused with %s, and not spent by that', async (_name, parameters, code) => {
    const { context, refreshToken } = await createHolder(rooms);
    expect(await codeOf(refresh(rooms, context, refreshToken, parameters))).toBe(code);
    expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('accepted');
  });

  it('is nobody’s in another tenant, and a stranger there ends nothing', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const other = await createTestTenant(rooms);
    const { refresh_token: next } = await refresh(rooms, context, refreshToken);
    await setBack('used_at', refreshToken, 60);
    expect(await codeOf(refresh(rooms, other, refreshToken))).toBe('invalid_grant');
    expect(await codeOf(refresh(rooms, context, refreshToken, { client_id: newId() }))).toBe(
      'invalid_client',
    );
    expect(await codeOf(refresh(rooms, context, next))).toBe('accepted');
  });

  it('ends with its family, which rotation does not prolong; that is no reuse', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const { refresh_token: next } = await refresh(rooms, context, refreshToken);
    const { rows } = await processes.database.query<{ ends: number }>(
      'SELECT count(DISTINCT family_expires_at)::int AS ends FROM refresh_tokens WHERE tenant_id = $1',
      [context.tenant.id],
    );
    expect(rows).toEqual([{ ends: 1 }]);
    for (const token of [refreshToken, next]) await setBack('family_expires_at', token, 3_601);
    expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('invalid_grant');
    expect(await codeOf(refresh(rooms, context, next))).toBe('invalid_grant');
    expect(await reuses(context)).toEqual({ events: 0, audit: 0 });
  });

  it.each<[string, (holder: Awaited<ReturnType<typeof createHolder>>) => Promise<unknown>]>([
    ['suspended', ({ context, agent }) => rooms.agents.suspend(context, agent.id)],
    ['deleted', ({ context, agent }) => rooms.agents.remove(context, agent.id)],
    ['revoked', ({ context, agent, key }) => rooms.keys.revoke(context, agent.id, key.id)],
    [
      'past its sunset',
      ({ key }) =>
        processes.database.query(
          "UPDATE agent_keys SET state = 'deprecated', sunset_at = now() - interval '1 s' WHERE id = $1",
          [key.id],
        ),
    ],
  ])('is refused when its agent or key is %s', async (_name, end) => {
    const holder = await createHolder(rooms);
    await end(holder);
    expect(await codeOf(refresh(rooms, holder.context, holder.refreshToken))).toBe('invalid_grant');
  });
});

describe('a second use of a refresh token', () => {
  it('within 10 s, for the same, gets the same successor and a fresh access token, in any process', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const first = await refresh(rooms, context, refreshToken);
    const again = await refresh(processes.two, context, refreshToken);
    expect(again.refresh_token).toBe(first.refresh_token);
    expect(claimsOf(again.access_token).jti).not.toBe(claimsOf(first.access_token).jti);
    expect(await reuses(context)).toEqual({ events: 0, audit: 0 });
  });

  it.each<
    [string, (given: { context: RequestContext; refreshToken: string; next: string }) => Promise<unknown>]
  >([
    ['after 10 s', ({ refreshToken }) => setBack('used_at', refreshToken, 10.5)],
    ['after its successor was used', ({ context, next }) => refresh(rooms, context, next)],
  ])('%s ends the family, which is reported once', async (_name, before) => {
    const { context, refreshToken, accessToken } = await createHolder(rooms);
    const { refresh_token: next, access_token } = await refresh(rooms, context, refreshToken);
    await before({ context, refreshToken, next });
    expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('invalid_grant');
    expect(await codeOf(refresh(rooms, context, next))).toBe('invalid_grant');
    expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('invalid_grant');
    expect(await reuses(context)).toEqual({ events: 1, audit: 1 });
    for (const token of [accessToken, access_token])
      expect(await codeOf(rooms.tokens.verifyAccessToken(context.tenant, token))).toBe('token_revoked');
  });

  it('for something else ends the family', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const { refresh_token: next } = await refresh(rooms, context, refreshToken);
    expect(await codeOf(refresh(rooms, context, refreshToken, { scope: 'openid' }))).toBe('invalid_grant');
    expect(await codeOf(refresh(rooms, context, next))).toBe('invalid_grant');
  });

  it('leaves other families of the same agent alone', async () => {
    const { context, agent, key, refreshToken } = await createHolder(rooms);
    const other = await issueFirst(rooms, context, { agentId: agent.id, keyId: key.id });
    await refresh(rooms, context, refreshToken);
    await setBack('used_at', refreshToken, 60);
    expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('invalid_grant');
    expect(await codeOf(refresh(rooms, context, other.refreshToken))).toBe('accepted');
    expect(await codeOf(rooms.tokens.verifyAccessToken(context.tenant, other.accessToken))).toBe('accepted');
  });

  it('within 10 s is marked on record, and refused from the fourth repetition on', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const { refresh_token: next } = await refresh(rooms, context, refreshToken);
    for (let times = 0; times < 3; times += 1)
      expect((await refresh(rooms, context, refreshToken)).refresh_token).toBe(next);
    expect(await codeOf(refresh(rooms, context, refreshToken))).toBe('invalid_grant');
    const marks = (records: readonly Readonly<Record<string, unknown>>[]) =>
      records.map(({ data }) => (data as { repeated?: true }).repeated);
    const audit = await readAudit(processes.database, context.tenant.id);
    const events = await readEvents(processes.database, context.tenant.id);
    const repeated = [undefined, true, true, true];
    expect(marks(audit.filter(({ action }) => action === 'auth.token.issued'))).toEqual(repeated);
    expect(marks(events.filter(({ type }) => type === 'auth.token.issued'))).toEqual(repeated);
    expect(await reuses(context)).toEqual({ events: 0, audit: 0 });
    expect(await codeOf(refresh(rooms, context, next))).toBe('accepted');
  });

  it('within 10 s from another address ends the family', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const { refresh_token: next, access_token } = await refresh(rooms, context, refreshToken);
    const elsewhere = { ...context, address: '198.51.100.9' };
    expect(await codeOf(refresh(rooms, elsewhere, refreshToken))).toBe('invalid_grant');
    expect(await reuses(context)).toEqual({ events: 1, audit: 1 });
    expect(await codeOf(refresh(rooms, context, next))).toBe('invalid_grant');
    expect(await codeOf(rooms.tokens.verifyAccessToken(context.tenant, access_token))).toBe('token_revoked');
  });

  it('within 10 s from another address of the same IPv6 network is a repetition', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const [one, two] = ['2001:db8::1', '2001:db8::2'].map((address) => ({ ...context, address }));
    if (one === undefined || two === undefined) throw new Error('no requests');
    const { refresh_token: next } = await refresh(rooms, one, refreshToken);
    expect((await refresh(rooms, two, refreshToken)).refresh_token).toBe(next);
  });

  it('by 100 at the same time in two processes: one rotates, three get that successor too, nothing ends', async () => {
    const { context, refreshToken } = await createHolder(rooms);
    const answers = await Promise.all(
      Array.from({ length: 100 }, (_, index) =>
        refresh(index % 2 ? processes.one : processes.two, context, refreshToken).catch(
          ({ code }: { code: string }) => code,
        ),
      ),
    );
    const issued = answers.filter((answer) => typeof answer !== 'string');
    expect(new Set(issued.map((answer) => answer.refresh_token)).size).toBe(1);
    expect(new Set(issued.map((answer) => answer.access_token)).size).toBe(4);
    const refusals = answers.filter((answer) => typeof answer === 'string');
    expect(refusals).toHaveLength(96);
    // A use that waits for 8 s is answered 503: on a busy machine the last ones are.
    for (const code of refusals) expect(['invalid_grant', 'temporarily_unavailable']).toContain(code);
    expect(await reuses(context)).toEqual({ events: 0, audit: 0 });
    const [first] = issued;
    expect(await codeOf(rooms.tokens.verifyAccessToken(context.tenant, first?.access_token ?? ''))).toBe(
      'accepted',
    );
    const { rows } = await processes.database.query<{ count: number; ids: number }>(
      `SELECT count(*)::int AS count, sum(cardinality(access_token_ids))::int AS ids FROM refresh_tokens WHERE tenant_id = $1`,
      [context.tenant.id],
    );
    expect(rows).toEqual([{ count: 2, ids: 5 }]);
  });

  it('leaves nothing alive when a theft and a rotation meet', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { context, refreshToken } = await createHolder(rooms);
      const { refresh_token: next } = await refresh(rooms, context, refreshToken);
      await setBack('used_at', refreshToken, 60);
      const [rotated] = await Promise.all([
        refresh(rooms, context, next).catch(() => undefined),
        codeOf(refresh(processes.two, context, refreshToken)),
      ]);
      const { rows } = await processes.database.query<{ live: number }>(
        'SELECT count(*)::int AS live FROM refresh_tokens WHERE tenant_id = $1 AND revoked_at IS NULL',
        [context.tenant.id],
      );
      expect(rows).toEqual([{ live: 0 }]);
      if (rotated !== undefined)
        expect(await codeOf(rooms.tokens.verifyAccessToken(context.tenant, rotated.access_token))).toBe(
          'token_revoked',
        );
    }
  });
});

describe('the text of a successor', () => {
  it('is made again with any of the master keys, and not without the text before', () => {
    const [old, young] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
    const id = newId();
    const text = createSuccessorDeriver({ masterKeys: [{ key: old }] }).make('before', id);
    const successor = { id, hash: hashSecret(text) };
    const both = createSuccessorDeriver({ masterKeys: [{ key: young }, { key: old }] });
    expect(both.remake('before', successor)).toBe(text);
    expect(both.remake('other', successor)).toBeUndefined();
    expect(both.make('before', id)).not.toBe(text);
    expect(
      createSuccessorDeriver({ masterKeys: [{ key: young }] }).remake('before', successor),
    ).toBeUndefined();
  });
});
