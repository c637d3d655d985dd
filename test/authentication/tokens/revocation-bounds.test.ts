// How many rows of revocations there are, and for how long: as long as a token can live, and of one client not many.
import { afterAll, describe, expect, it } from 'vitest';
import * as store from '../../../src/authentication/tokens/revocation.store.ts';
import {
  createRevocationBook,
  holderOf,
  type RevocableClaims,
  type Revocation,
} from '../../../src/authentication/tokens/revocation.ts';
import { AGENT_CLIENT_ID } from '../../../src/identity/agents/agent.ts';
import { loadConfig } from '../../../src/platform/config.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { letClockMove } from '../../setup/patience.ts';
import { claimsOf, codeOf, createHolder, createTwoProcesses, issueFirst } from './refresh-fixture.ts';

const processes = await createTwoProcesses();
const { one, two } = processes;
afterAll(() => processes.drop());

type Holder = Awaited<ReturnType<typeof createHolder>>;

const check = ({ context }: Holder, token: string) =>
  codeOf(two.tokens.verifyAccessToken(context.tenant, token));

async function issue({ context, agent }: Holder, clientId: string) {
  const { tenant } = context;
  return one.tokens.issueAccessToken(tenant, {
    sub: agent.id,
    clientId,
    audience: tenant.audience,
    scopes: ['openid'],
  });
}

const end = ({ context, agent }: Holder, ...ids: string[]) =>
  processes.database.transaction({}, (unit) =>
    one.revocations.endTokens(
      unit,
      context.tenant.id,
      { client_id: AGENT_CLIENT_ID, sub: agent.id },
      ids.map((id) => ({ id })),
    ),
  );

/** The tenant's rows, how long each is kept in minutes. */
async function rowsOf({ context }: Holder) {
  const { rows } = await processes.database.query<{ kind: string; count: number; minutes: number }>(
    `SELECT CASE WHEN principal IS NULL THEN 'token' ELSE 'principal' END AS kind, count(*)::int AS count,
       round(max(extract(epoch FROM expires_at - now())) / 60)::int AS minutes
     FROM revocations WHERE tenant_id = $1 GROUP BY 1 ORDER BY 1`,
    [context.tenant.id],
  );
  return rows;
}

describe('the row of one token', () => {
  it('is kept until the end of the token, and five minutes for the clocks', async () => {
    const holder = await createHolder(one);
    const { exp } = claimsOf(holder.accessToken) as { exp: number };
    const client = { client_id: AGENT_CLIENT_ID, sub: holder.agent.id };
    await processes.database.transaction({}, (unit) =>
      one.revocations.endTokens(unit, holder.context.tenant.id, client, [
        { id: holder.tokenId, expiresAt: exp * 1000 },
        { id: newId(), expiresAt: Date.now() - 60_000 },
      ]),
    );
    const minutes = Math.round((exp * 1000 - Date.now()) / 60_000) + 5;
    expect(await rowsOf(holder)).toEqual([{ kind: 'token', count: 1, minutes }]);
  });

  it('is kept as long as any setting could have let the token live, when its end is unknown', async () => {
    const holder = await createHolder(one);
    await end(holder, holder.tokenId, '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b');
    expect(await rowsOf(holder)).toEqual([{ kind: 'token', count: 1, minutes: 24 * 60 + 5 }]);
    const settings = { DATABASE_URL: 'postgres://localhost/x', ACCESS_TOKEN_LIFETIME: '86401' };
    expect(() => loadConfig(settings, { role: 'migrate' })).toThrow('ACCESS_TOKEN_LIFETIME');
  });
});

describe('the rows of a principal', () => {
  it('are one: the latest', async () => {
    const holder = await createHolder(one);
    const { context, agent } = holder;
    for (let n = 0; n < 3; n += 1) {
      await one.agents.suspend(context, agent.id);
      expect(await check(holder, holder.accessToken)).toBe('token_revoked');
      await one.agents.reactivate(context, agent.id);
    }
    const rows = await rowsOf(holder);
    expect(rows.find(({ kind }) => kind === 'principal')).toMatchObject({ count: 1, minutes: 25 * 60 });
    expect(await check(holder, holder.accessToken)).toBe('token_revoked');
  });
});

describe('a client that ends its own tokens again and again', () => {
  it('has one row in their place, which ends all its tokens until now and nobody else’s', async () => {
    const holder = await createHolder(one);
    const { agent, context } = holder;
    const id = holderOf({ client_id: AGENT_CLIENT_ID, sub: agent.id });
    const early = await issue(holder, AGENT_CLIENT_ID);
    await end(holder, early.tokenId);
    await processes.database.query(
      `INSERT INTO revocations (tenant_id, holder, token_id, expires_at)
       SELECT $1, $2, ('0199a1b2-7c3d-7e4f-8a5b-' || lpad(to_hex(n), 12, '0'))::uuid, now() + interval '1 hour'
       FROM generate_series(1, $3::int) AS n`,
      [context.tenant.id, id, store.MOST_SINGLE - 2],
    );
    const other = await issue(holder, newId());
    await end(holder, holder.tokenId);
    expect(await rowsOf(holder)).toMatchObject([{ kind: 'token', count: store.MOST_SINGLE }]);
    const [alive, last] = [await issue(holder, AGENT_CLIENT_ID), await issue(holder, AGENT_CLIENT_ID)];
    await letClockMove();
    await end(holder, last.tokenId);
    expect(await rowsOf(holder)).toMatchObject([
      { kind: 'principal', count: 1, minutes: 25 * 60 },
      { kind: 'token', count: 1 },
    ]);
    await letClockMove();
    const later = await issueFirst(one, context, { agentId: agent.id, keyId: holder.key.id });
    for (const { accessToken } of [early, holder, alive, last])
      expect(await check(holder, accessToken)).toBe('token_revoked');
    for (const { accessToken } of [other, later]) expect(await check(holder, accessToken)).toBe('accepted');
  });

  it('which ends more in one act than one may have, has rows of the youngest', async () => {
    const { context, agent } = await createHolder(one);
    const tenantId = context.tenant.id;
    const holder = holderOf({ client_id: AGENT_CLIENT_ID, sub: agent.id });
    const ids = Array.from({ length: 5 }, newId);
    await letClockMove();
    const tokens = ids.map((id) => ({ id, expiresAt: Date.now() + 60_000 }));
    const rows = await store.insertTokens(processes.database, { tenantId, holder, tokens }, 3);
    expect(rows.flatMap(({ tokenId }) => tokenId ?? []).toSorted()).toEqual(ids.slice(2));
    const book = createRevocationBook();
    book.add(rows);
    for (const jti of ids) {
      const claims = { jti, sub: agent.id, client_id: AGENT_CLIENT_ID, tenant_id: tenantId, iat: 0 };
      expect(book.isRevoked(claims)).toBe(true);
    }
  });
});

describe('the memory', () => {
  const claims: RevocableClaims = { jti: 'j', sub: 'agent', client_id: 'app', tenant_id: 'mine', iat: 10 };
  const ending = (given: Partial<Revocation>): Revocation => ({
    id: 1,
    tenantId: 'mine',
    tokenId: null,
    principal: null,
    notBefore: Infinity,
    expiresAt: 100,
    ...given,
  });

  it('says that it does not know what of a tenant it did not keep, until that would have expired', () => {
    const book = createRevocationBook({ all: 9, tenant: 2 });
    book.add([ending({ tokenId: 'a', expiresAt: 50 }), ending({ tokenId: 'b', expiresAt: 50 })]);
    expect(book.isRevoked(claims)).toBe(false);
    book.add([ending({ tokenId: 'c', expiresAt: 70 }), ending({ principal: 'agent', expiresAt: 60 })]);
    expect(book.isRevoked(claims)).toBeUndefined();
    expect(book.isRevoked({ ...claims, jti: 'a' })).toBe(true);
    expect(book.isRevoked({ ...claims, tenant_id: 'other' })).toBe(false);
    // There is room again, but what was not kept is still missing.
    book.forget(60);
    book.add([ending({ tokenId: 'd' })]);
    expect(book.isRevoked({ ...claims, jti: 'd' })).toBe(true);
    expect(book.isRevoked(claims)).toBeUndefined();
    book.forget(71);
    expect(book.isRevoked(claims)).toBe(false);
  });

  it('knows what of a tenant it did not keep, so that other tokens are judged without the database', () => {
    const book = createRevocationBook({ all: 9_000, tenant: 100 });
    book.add(Array.from({ length: 50_000 }, (_, n) => ending({ principal: `made and ended ${n}` })));
    const verdicts = (prefix: string, count: number) =>
      Array.from({ length: count }, (_, n) => book.isRevoked({ ...claims, sub: `${prefix} ${n}` }));
    const ended = verdicts('made and ended', 50_000);
    expect([ended.filter((one) => one === true).length, ended.includes(false)]).toEqual([100, false]);
    expect(verdicts('another', 1_000).filter((one) => one !== false).length).toBeLessThan(5);
    book.forget(101);
    expect(book.isRevoked({ ...claims, sub: 'made and ended 7777' })).toBe(false);
  });

  it('takes the latest of a principal that it has even when it is full', () => {
    const book = createRevocationBook({ all: 9, tenant: 1 });
    book.add([ending({ principal: 'agent' })]);
    book.add([ending({ id: 2, principal: 'agent', notBefore: 9_000 })]);
    expect(book.isRevoked(claims)).toBe(false);
  });

  it('is bounded over all tenants, too', () => {
    const book = createRevocationBook({ all: 2, tenant: 2 });
    book.add(['one', 'two', 'mine'].map((tenantId) => ending({ tenantId, tokenId: 'a' })));
    expect(book.isRevoked(claims)).toBeUndefined();
    expect(book.isRevoked({ ...claims, tenant_id: 'one' })).toBe(false);
  });

  it('ends a delegated token with the tokens of the clients behind it', () => {
    const book = createRevocationBook();
    const [agent, app] = [newId(), newId()];
    const holder = holderOf({ client_id: AGENT_CLIENT_ID, sub: agent });
    book.add([ending({ principal: holder, notBefore: 20_000 })]);
    const delegated = { ...claims, sub: 'user', client_id: app, act: { sub: agent } };
    expect(book.isRevoked(delegated)).toBe(true);
    expect(book.isRevoked({ ...claims, sub: agent, client_id: AGENT_CLIENT_ID })).toBe(true);
    expect(book.isRevoked({ ...claims, sub: agent, client_id: app })).toBe(false);
  });
});
