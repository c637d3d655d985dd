// Tenants against a real database, and their own routes over HTTP.
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { createAccounts, provisionTenant, requestTo } from '../../authentication/tokens/accounts.ts';
import { useAccountsServer } from '../../authentication/tokens/accounts-server.ts';
import { PATIENCE } from '../../setup/patience.ts';

const { test, server } = await useAccountsServer();

const { accounts } = server;

const count = async (table: string) => {
  const { rows } = await test.database.query<{ count: number }>(`SELECT count(*) FROM ${table}`);
  return rows[0]?.count;
};

describe('a new tenant', () => {
  it('comes with an issuer key and an application that holds every scope', async () => {
    const { tenant, credentials } = await provisionTenant(accounts, 'acme');
    const url = `${server.origin}/t/acme`;
    expect(credentials).toEqual({
      tenant_id: tenant.id,
      slug: 'acme',
      base_url: url,
      issuer_url: url,
      client_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      client_secret: expect.stringMatching(/^[\w-]{43}$/),
    });
    expect(tenant).toEqual({
      id: tenant.id,
      slug: 'acme',
      name: 'acme',
      audience: url,
      signingAlgorithm: 'ES256',
      baseUrl: url,
      issuerUrl: url,
    });
    const { rows } = await test.database.query<{ action: string; actor_kind: string }>(
      'SELECT action, actor_kind FROM audit_log WHERE tenant_id = $1 ORDER BY id',
      [tenant.id],
    );
    expect(rows).toEqual([
      { action: 'tenant.created', actor_kind: 'operator' },
      { action: 'issuer.key.published', actor_kind: 'operator' },
      { action: 'application.created', actor_kind: 'operator' },
    ]);
  });

  it('is refused with a slug that was used, or is no DNS label, and leaves nothing behind', async () => {
    const before = [await count('tenants'), await count('issuer_keys'), await count('applications')];
    await expect(accounts.provisioning.provision({ slug: 'acme' })).rejects.toMatchObject({
      code: 'conflict',
    });
    await expect(accounts.tenants.create({ slug: 'acme' })).rejects.toMatchObject({ code: 'conflict' });
    expect(() => accounts.tenants.create({ slug: 'Acme' })).toThrowError(
      expect.objectContaining({ code: 'invalid_request' }),
    );
    expect([await count('tenants'), await count('issuer_keys'), await count('applications')]).toEqual(before);
  });

  it('that breaks a rule of the table which is nobody’s fault is no conflict', async () => {
    await test.database.query('CREATE UNIQUE INDEX surprise ON tenants (name)');
    try {
      await expect(accounts.tenants.create({ slug: 'other', name: 'acme' })).rejects.not.toMatchObject({
        code: 'conflict',
      });
    } finally {
      await test.database.query('DROP INDEX surprise');
    }
  });

  it('is there for every process immediately, although a moment ago it was not', async () => {
    const other = createAccounts(test.database);
    expect(await other.tenants.bySlug('later')).toBeUndefined();
    expect(await other.tenants.byId('0192f0c0-0000-7000-8000-000000000001')).toBeUndefined();
    const { tenant } = await provisionTenant(accounts, 'later');
    expect(await other.tenants.bySlug('later')).toEqual(tenant);
    expect(await other.tenants.byId(tenant.id)).toEqual(tenant);
    expect(await other.tenants.bySlug("x' OR 1=1")).toBeUndefined();
  });

  it('is read by one statement with the others that are asked for meanwhile', async () => {
    const query = vi.fn(test.database.query);
    const { tenants } = createAccounts({ ...test.database, query: query as typeof test.database.query });
    const acme = await accounts.tenants.bySlug('acme');
    const later = await accounts.tenants.bySlug('later');
    const slugs = ['later', 'none', 'acme', 'later'];
    const bySlug = await Promise.all(slugs.map((slug) => tenants.bySlug(slug)));
    expect(bySlug).toEqual([later, undefined, acme, later]);
    expect(query).toHaveBeenCalledTimes(1);
    const ids = [acme?.id ?? '', '0192f0c0-0000-7000-8000-000000000001', later?.id ?? ''];
    expect(await Promise.all(ids.map((id) => tenants.byId(id)))).toEqual([acme, undefined, later]);
    expect(query).toHaveBeenCalledTimes(2);
  });

  it('is listed after the older ones', async () => {
    expect((await accounts.tenants.list()).map(({ slug }) => slug)).toEqual(['acme', 'later']);
  });
});

describe('the tenant’s own routes', () => {
  const token = async (slug: string, scope: string) => {
    const known = await accounts.tenants.bySlug(slug);
    const made = known ?? (await provisionTenant(accounts, slug)).tenant;
    const { application } = await accounts.applications.create(requestTo(made), {
      name: 'Client',
      scopes: ['tenant:write', 'agents:read'],
    });
    const grant = { sub: application.id, clientId: application.id, scopes: [scope], audience: made.baseUrl };
    const { accessToken } = await accounts.tokens.issueAccessToken(made, grant);
    return { accessToken, url: `${made.baseUrl}/api/v1/tenant`, tenant: made };
  };

  it('show it and change name, audience and algorithm', async () => {
    const { accessToken, url, tenant } = await token('routes', 'tenant:write');
    const shown = await server.send('GET', url, accessToken);
    expect(shown.status).toBe(200);
    expect(shown.body).toMatchObject({ id: tenant.id, slug: 'routes', audience: tenant.baseUrl });
    const changed = await server.send('PATCH', url, accessToken, {
      ...shown.body,
      name: 'Routes Ltd',
      audience: 'https://api.routes.example',
    });
    expect(changed.body).toMatchObject({ name: 'Routes Ltd', audience: 'https://api.routes.example' });
    expect(await accounts.tenants.bySlug('routes')).toMatchObject({ audience: 'https://api.routes.example' });
    const reset = await server.send('PATCH', url, accessToken, { audience: null });
    expect(reset.body).toMatchObject({ name: 'Routes Ltd', audience: tenant.baseUrl, slug: 'routes' });
  });

  it('change what other processes issue within a second', async () => {
    const { accessToken, url, tenant } = await token('quick', 'tenant:write');
    const { tenants } = createAccounts(test.database);
    expect(await tenants.bySlug('quick')).toMatchObject({ audience: tenant.baseUrl });
    expect(await tenants.byId(tenant.id)).toMatchObject({ audience: tenant.baseUrl });
    await server.send('PATCH', url, accessToken, { audience: 'https://new.example' });
    const now = performance.now.bind(performance);
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + 1_000);
    onTestFinished(() => clock.mockRestore());
    // While the database takes longer than a quarter of a second, the memory answers.
    const isNew = async () => (await tenants.bySlug('quick'))?.audience === 'https://new.example';
    await vi.waitUntil(isNew, PATIENCE);
    expect(await tenants.byId(tenant.id)).toMatchObject({ audience: 'https://new.example' });
  });

  it('set for how long rows are kept, within the bounds that they show, and the audit log has the change', async () => {
    const { accessToken, url, tenant } = await token('brief', 'tenant:write');
    const shown = await server.send('GET', url, accessToken);
    expect(shown.body).toMatchObject({
      retention: { deliveries_days: 30, events_days: 30, audit_addresses_days: null },
      retention_bounds: {
        deliveries_days: { least: 2, most: 30 },
        events_days: { least: 2, most: 30 },
        audit_addresses_days: { least: 1, most: null },
      },
    });
    const retention = { deliveries_days: 5, events_days: 7, audit_addresses_days: 90 };
    const changed = await server.send('PATCH', url, accessToken, { retention });
    expect(changed.body.retention).toEqual(retention);
    expect(await accounts.tenants.bySlug('brief')).toMatchObject({ eventsDays: 7 });
    const { rows } = await test.database.query<{ data: object }>(
      "SELECT data FROM audit_log WHERE tenant_id = $1 AND action = 'tenant.updated'",
      [tenant.id],
    );
    expect(rows).toMatchObject([{ data: { changes: { events_days: { from: null, to: 7 } } } }]);
    const refused = await server.send('PATCH', url, accessToken, { retention: { deliveries_days: 1 } });
    expect(refused.body.errors).toEqual([
      { path: 'body.retention.deliveries_days', message: 'must be 2 to 30' },
    ]);
    const back = await server.send('PATCH', url, accessToken, {
      retention: { ...shown.body.retention, events_days: null },
    });
    expect(back.body.retention).toEqual(shown.body.retention);
  });

  it('do nothing when no field is named', async () => {
    const { accessToken, url, tenant } = await token('untouched', 'tenant:write');
    const { body: before } = await server.send('GET', url, accessToken);
    const { status, body } = await server.send('PATCH', url, accessToken, {});
    expect([status, body]).toEqual([200, before]);
    const { rows } = await test.database.query(
      "SELECT 1 FROM audit_log WHERE tenant_id = $1 AND action = 'tenant.updated'",
      [tenant.id],
    );
    expect(rows).toEqual([]);
  });

  it.each([
    [{ nickname: 'x' }, 'body.nickname'],
    [{ name: '' }, 'body.name'],
    [{ name: null }, 'body.name'],
    [{ audience: 'two words' }, 'body.audience'],
    [{ signing_algorithm: 'RS256' }, 'body.signing_algorithm'],
  ])('refuse %j', async (body, path) => {
    const { accessToken, url } = await token('routes', 'tenant:write');
    const { status, body: problem } = await server.send('PATCH', url, accessToken, body);
    expect([status, problem.error]).toEqual([400, 'invalid_request']);
    expect(problem.errors.map((error: { path: string }) => error.path)).toContain(path);
  });

  it('need the scope, and a token of this tenant', async () => {
    const { accessToken, url } = await token('routes', 'agents:read');
    const { accessToken: foreign } = await token('acme', 'tenant:write');
    expect((await server.send('GET', url, accessToken)).status).toBe(403);
    expect((await server.send('GET', url, foreign)).status).toBe(401);
    expect((await server.send('GET', url, undefined)).status).toBe(401);
  });
});
