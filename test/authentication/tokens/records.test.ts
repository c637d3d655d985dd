// What a token request leaves behind: audit rows, events, counted failures; and what it costs.
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import type { Database } from '../../../src/platform/database/database.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { type Accounts, basic, createAccounts, provisionTenant, requestTo } from './accounts.ts';

const test = await useTestDatabase();

const accounts = createAccounts(test.database, { clientFailures: 3 });
const demo = await provisionTenant(accounts, 'demo');
await subscribe(demo.tenant.id);

afterAll(() => accounts.clientRecords.close());

/** Makes the tenant's events be kept. */
async function subscribe(tenantId: string): Promise<void> {
  await test.database.query(
    `INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed)
     VALUES (gen_random_uuid(), $1, 'https://example.com/', 'example.com', '{*}', '{*}', 'audit', '\\x00')`,
    [tenantId],
  );
  await test.database.query(
    'INSERT INTO endpoints (subscription_id, tenant_id) SELECT id, tenant_id FROM subscriptions ON CONFLICT DO NOTHING',
  );
}

const parameters = { grant_type: 'client_credentials', scope: 'openid' };
const ask = (authorization: string, address: string, service: Accounts = accounts) =>
  service.tokenEndpoint.requestToken(requestTo(demo.tenant, address), { authorization, parameters });
const fail = (address: string) =>
  ask(basic(demo.credentials.client_id, 'wrong'), address).then(
    () => 'accepted',
    (error: { code: string; retryAfterSeconds?: number }) => error,
  );
const ATTACK = 'security.brute_force.detected';
const audited = async (address: string) => {
  const { rows } = await test.database.query<{
    action: string;
    outcome: string;
    reason: string | null;
    actor_kind: string;
    actor_id: string | null;
    target_id: string;
    token_id: string | null;
    request_id: string;
    data: { count?: number };
  }>('SELECT * FROM audit_log WHERE client_address = $1 ORDER BY id', [address]);
  return rows;
};
const events = async () => {
  const { rows } = await test.database.query<{ type: string; body: Buffer }>(
    'SELECT type, body FROM events ORDER BY id',
  );
  return rows.map(({ type, body }) => ({ type, data: JSON.parse(body.toString()).data }));
};

beforeEach(() => test.database.query('DELETE FROM events'));

describe('the record of a token request', () => {
  it('is two audit rows and two events, committed before the answer', async () => {
    const answer = await ask(demo.authorization, '192.0.2.10');
    const [login, issued] = await audited('192.0.2.10');
    const { client_id } = demo.credentials;
    expect(login).toMatchObject({
      action: 'auth.login.success',
      outcome: 'success',
      actor_kind: 'application',
    });
    expect(issued).toMatchObject({ action: 'auth.token.issued', actor_id: client_id, target_id: client_id });
    const claims = JSON.parse(
      Buffer.from(answer.answer.access_token.split('.')[1] ?? '', 'base64url').toString(),
    );
    expect(issued?.token_id).toBe(claims.jti);
    expect(await events()).toEqual([
      {
        type: 'auth.login.success',
        data: { method: 'client_credentials', client_id, sub: client_id, address: '192.0.2.10' },
      },
      {
        type: 'auth.token.issued',
        data: {
          token_id: claims.jti,
          client_id,
          sub: client_id,
          scope: 'openid',
          audience: demo.tenant.baseUrl,
          method: 'client_credentials',
          expires_in: 300,
        },
      },
    ]);
  });

  it('holds neither the token nor the secret', async () => {
    const answer = await ask(demo.authorization, '192.0.2.11');
    const record = JSON.stringify([await audited('192.0.2.11'), await events()]);
    expect(record).not.toContain(answer.answer.access_token.split('.')[2]);
    expect(record).not.toContain(demo.credentials.client_secret);
  });

  it('is no event where no subscription gets it, and is one as soon as there is a subscription', async () => {
    const quiet = await provisionTenant(accounts, 'quiet');
    const request = () =>
      accounts.tokenEndpoint.requestToken(requestTo(quiet.tenant, '192.0.2.14'), {
        authorization: quiet.authorization,
        parameters,
      });
    await request();
    const before = (await events()).length;
    expect(await audited('192.0.2.14')).toHaveLength(2);
    await subscribe(quiet.tenant.id);
    await request();
    expect(await events()).toHaveLength(before + 2);
  });

  it('costs one round trip with everything on, also where a subscription gets its events', async () => {
    let count = 0;
    const counting: Database = {
      ...test.database,
      query: (text, values, members) => {
        count += 1;
        return test.database.query(text, values, members);
      },
      transaction: (context, work) =>
        test.database.transaction(context, (unit) => {
          count += 2; // BEGIN and COMMIT
          return work({
            ...unit,
            query: (text, values, members) => {
              count += 1;
              return unit.query(text, values, members);
            },
          });
        }),
    };
    const wired = createAccounts(counting);
    const { tenant, authorization } = await provisionTenant(wired, 'counted');
    const request = () => wired.tokenEndpoint.requestToken(requestTo(tenant), { authorization, parameters });
    await request(); // reads the client, which is then remembered, and the list of issuer keys, which then serves for seconds
    count = 0;
    await request();
    expect(count).toBe(1);
    await subscribe(tenant.id);
    await request(); // notices the subscription
    count = 0;
    await request();
    expect(count).toBe(1);
  });

  it('of requests at the same time is each its own: one that the database refuses harms no other', async () => {
    const addresses = Array.from({ length: 20 }, (_, n) => (n === 7 ? 'U+0000: \0' : `192.0.2.${100 + n}`));
    const results = await Promise.allSettled(addresses.map((address) => ask(demo.authorization, address)));
    expect(results.map(({ status }) => status)).toEqual(
      addresses.map((_, n) => (n === 7 ? 'rejected' : 'fulfilled')),
    );
    for (const address of addresses.filter((_, n) => n !== 7)) expect(await audited(address)).toHaveLength(2);
    expect(await events()).toHaveLength(38);
  });

  it('is written once when the answer to its commit is lost', async () => {
    let isLost = false;
    const losing = createAccounts({
      ...test.database,
      query: async <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') => {
        const result = await test.database.query<Row>(text, values, members);
        if (!isLost && text.includes('INSERT INTO audit_log')) {
          isLost = true;
          throw new Error('Connection terminated unexpectedly');
        }
        return result;
      },
    });
    const { tenant, authorization } = await provisionTenant(losing, 'lossy');
    const request = requestTo(tenant, '192.0.2.90');
    await losing.tokenEndpoint.requestToken(request, { authorization, parameters });
    expect(isLost).toBe(true);
    expect(await audited('192.0.2.90')).toHaveLength(2);
  });

  it('withholds the token when it cannot be written', async () => {
    const broken = createAccounts({
      ...test.database,
      query: <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') =>
        text.includes('INSERT INTO audit_log')
          ? Promise.reject(new Error('no disk'))
          : test.database.query<Row>(text, values, members),
    });
    const { tenant, authorization } = await provisionTenant(broken, 'broken');
    const request = broken.tokenEndpoint.requestToken(requestTo(tenant), { authorization, parameters });
    await expect(request).rejects.toThrow('no disk');
  });
});

describe('failures of a client', () => {
  it('are in the log each, and reported immediately, then by number, without the secret that was tried', async () => {
    await fail('192.0.2.20');
    await accounts.clientRecords.settled();
    const event = {
      method: 'client_credentials',
      client_id: demo.credentials.client_id,
      reason: 'invalid_client',
      address: '192.0.2.20',
    };
    expect(await events()).toEqual([{ type: 'auth.login.failure', data: { ...event, count: 1 } }]);
    await fail('192.0.2.20');
    await fail('192.0.2.20');
    await accounts.clientRecords.settled();
    // The third is the last that the limit allows: a brute force attack has begun.
    expect((await events()).map(({ type }) => type)).toEqual(['auth.login.failure', ATTACK]);
    const row = {
      action: 'auth.login.failure',
      outcome: 'failure',
      reason: 'invalid_client',
      actor_kind: 'anonymous',
      target_id: demo.credentials.client_id,
      data: { method: 'client_credentials', client_auth: 'client_secret_basic' },
    };
    const rows = (await audited('192.0.2.20')).filter(({ action }) => action !== ATTACK);
    expect(rows).toMatchObject([row, row, row]);
    expect(new Set(rows.map(({ request_id }) => request_id)).size).toBe(3);
    await accounts.clientRecords.close();
    const told = (await events()).filter(({ type }) => type !== ATTACK);
    expect(told.map(({ data }) => data.count)).toEqual([1, 2]);
    expect(await audited('192.0.2.20')).toHaveLength(4);
  });

  it('beyond the limit are counted, and not written', async () => {
    for (let count = 0; count < 6; count += 1) await fail('192.0.2.22');
    await accounts.clientRecords.settled();
    expect(await audited('192.0.2.22')).toHaveLength(3);
  });

  it('whose credentials were right name the client and its secret', async () => {
    const context = requestTo(demo.tenant, '192.0.2.21');
    const refuse = (more: Record<string, string>) =>
      accounts.tokenEndpoint
        .requestToken(context, { authorization: demo.authorization, parameters: { ...parameters, ...more } })
        .catch((error: { code: string }) => error.code);
    expect(await refuse({ scope: 'nothing' })).toBe('invalid_scope');
    expect(await refuse({ resource: 'https://other.example' })).toBe('invalid_target');
    expect(await refuse({ resource: demo.tenant.baseUrl })).toMatchObject({ answer: expect.anything() });
    await accounts.clientRecords.settled();
    const { client_id } = demo.credentials;
    const [secret] = (await accounts.applications.get(context, client_id)).secrets;
    const facts = { client_auth: 'client_secret_basic', credential: secret?.id };
    expect(await audited('192.0.2.21')).toMatchObject([
      { reason: 'invalid_scope', actor_kind: 'application', actor_id: client_id, data: facts },
      { reason: 'invalid_target', actor_id: client_id, data: facts },
      { action: 'auth.login.success', actor_id: client_id, data: facts },
      { action: 'auth.token.issued' },
    ]);
  });

  it('are limited by client and address, while a right secret always passes', async () => {
    for (let count = 0; count < 3; count += 1) {
      expect(await fail('192.0.2.30')).toMatchObject({ code: 'invalid_client' });
    }
    const refused = await fail('192.0.2.30');
    expect(refused).toMatchObject({ code: 'rate_limited', retryAfterSeconds: expect.any(Number) });
    expect(await fail('192.0.2.31')).toMatchObject({ code: 'invalid_client' });
    expect(await ask(demo.authorization, '192.0.2.30')).toMatchObject({ answer: { token_type: 'Bearer' } });
  });

  it('that go on are reported as a brute force attack, once', async () => {
    const lenient = createAccounts(test.database, { clientFailures: 50 });
    const { tenant, credentials } = await provisionTenant(lenient, 'guessed');
    const request = { authorization: basic(credentials.client_id, 'wrong'), parameters };
    await subscribe(tenant.id);
    for (let count = 0; count < 12; count += 1) {
      const guess = lenient.tokenEndpoint.requestToken(requestTo(tenant, '192.0.2.50'), request);
      await expect(guess).rejects.toMatchObject({ code: 'invalid_client' });
    }
    await lenient.clientRecords.settled();
    const actions = (await audited('192.0.2.50')).map(({ action }) => action);
    expect(actions.filter((action) => action === 'security.brute_force.detected')).toHaveLength(1);
    expect((await events()).map(({ type }) => type)).toContain('security.brute_force.detected');
    await lenient.clientRecords.close();
  });

  it('of the same id below another tenant hide no attack', async () => {
    const lenient = createAccounts(test.database, { clientFailures: 50 });
    const victim = await provisionTenant(lenient, 'hidden');
    const other = await provisionTenant(lenient, 'elsewhere');
    const request = { authorization: basic(victim.credentials.client_id, 'wrong'), parameters };
    for (const [{ tenant }, address] of [
      [other, '192.0.2.51'],
      [victim, '192.0.2.52'],
    ] as const)
      for (let count = 0; count < 10; count += 1) {
        const guess = lenient.tokenEndpoint.requestToken(requestTo(tenant, address), request);
        await expect(guess).rejects.toMatchObject({ code: 'invalid_client' });
      }
    await lenient.clientRecords.settled();
    const actions = (await audited('192.0.2.52')).map(({ action }) => action);
    expect(actions).toContain('security.brute_force.detected');
    await lenient.clientRecords.close();
  });

  it('cost a wrong secret and an unknown client the same round trips before the answer', async () => {
    let count = 0;
    const counting = createAccounts(
      {
        ...test.database,
        query: (text, values, members) => {
          count += 1;
          return test.database.query(text, values, members);
        },
      },
      { clientFailures: 100 },
    );
    const costs: number[] = [];
    for (const id of [demo.credentials.client_id, '00000000-0000-4000-8000-000000000001']) {
      count = 0;
      await ask(basic(id, 'wrong'), '192.0.2.60', counting).catch(() => costs.push(count));
      await counting.clientRecords.settled();
    }
    expect(costs).toEqual([3, 3]);
    await counting.clientRecords.close();
  });

  it('of an unknown client leave no record, and are limited all the same', async () => {
    const stranger = basic('00000000-0000-4000-8000-000000000000', 'x');
    const codes: string[] = [];
    for (let count = 0; count < 4; count += 1) {
      codes.push(
        await ask(stranger, '192.0.2.40')
          .catch((error: { code: string }) => error.code)
          .then(String),
      );
    }
    await accounts.clientRecords.settled();
    expect(codes).toEqual(['invalid_client', 'invalid_client', 'invalid_client', 'rate_limited']);
    expect(await audited('192.0.2.40')).toEqual([]);
  });
});

describe('made-up client ids', () => {
  const rowsOf = async (address: string) => {
    const { rows } = await test.database.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM rate_limits WHERE key LIKE '%' || $1 OR key LIKE '%:unknown-%'`,
      [address],
    );
    return rows[0]?.count ?? 0;
  };

  it('cannot fill the table of counts, and are answered as existing ones', async () => {
    const address = '198.51.100.77';
    const codes = new Map<string, number>();
    const attempt = async () => {
      const { code } = (await ask(basic(crypto.randomUUID(), 'wrong'), address).catch(
        (error: unknown) => error,
      )) as { code: string };
      codes.set(code, (codes.get(code) ?? 0) + 1);
    };
    for (let round = 0; round < 60; round += 1) await Promise.all(Array.from({ length: 10 }, attempt));
    expect([...codes.keys()].sort()).toEqual(expect.arrayContaining(['invalid_client']));
    // A part of all ids each, and two rows for each part of the unknown ones.
    expect(await rowsOf(address)).toBeLessThanOrEqual(256 + 2 * 16);
    expect(await ask(demo.authorization, address)).toMatchObject({ answer: { token_type: 'Bearer' } });
  });
});
