// Subscriptions over HTTP, against a real database.
import { afterAll, describe, expect, it } from 'vitest';
import { createWebhookRooms } from '../webhook-rooms.ts';

const rooms = await createWebhookRooms();
afterAll(() => rooms.close());

const PATH = '/api/v1/webhooks';
const BODY = { url: 'https://hooks.example.com/in?token=1', event_types: ['org.created'] };
const OWN_SECRET = 'my own secret with enough entropy in it';

async function readSecret(id: string): Promise<string> {
  const { rows } = await rooms.database.query<{ secret_sealed: Buffer }>(
    'SELECT secret_sealed FROM subscriptions WHERE id = $1',
    [id],
  );
  return rooms.sealing.openSecret(id, rows[0]?.secret_sealed ?? Buffer.alloc(0));
}

async function auditOf(id: string): Promise<string[]> {
  const { rows } = await rooms.database.query<{ action: string }>(
    'SELECT action FROM audit_log WHERE target_id = $1 ORDER BY id',
    [id],
  );
  return rows.map(({ action }) => action);
}

/** Reads a subscription; only where one is read its endpoint has `failures`. */
async function readRow(id: string) {
  const { body } = await rooms.send('GET', `${PATH}/${id}`);
  const { failures, ...endpoint } = body.endpoint;
  expect(failures).toEqual([]);
  return { ...body, endpoint };
}

describe('POST /api/v1/webhooks', () => {
  it('creates a subscription with all its defaults and a secret that is shown once', async () => {
    const { status, body, headers } = await rooms.send('POST', PATH, BODY);
    expect(status).toBe(201);
    expect(headers.get('location')).toBe(`${rooms.demo.tenant.baseUrl}${PATH}/${body.id}`);
    const { secret, ...shown } = body;
    expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    expect(await readSecret(body.id)).toBe(secret);
    expect(shown).toEqual({
      id: expect.any(String),
      ...BODY,
      description: null,
      active: true,
      envelope: 'plain',
      sink: 'standard',
      signatures: ['service-webhook-v1', 'v1'],
      max_age: 300,
      rate_limit: null,
      retry_policy: { delays_seconds: [5, 30, 120, 600, 1800, 3600, 10800, 21600, 43200, 86400, 86400] },
      headers: {},
      disable_after_days: 14,
      disabled_reason: null,
      secret_overlap_ends_at: null,
      endpoint: {
        state: 'open',
        hold_until: null,
        held_by: null,
        failing_since: null,
        next_probe_at: null,
        last_error: null,
        last_status_code: null,
        waiting: 0,
      },
      created_at: expect.any(String),
      updated_at: expect.any(String),
    });
    expect(await readRow(body.id)).toEqual(shown);
    expect(await auditOf(body.id)).toEqual(['webhook.endpoint.created']);
  });

  it('takes every field, and never echoes a secret of the caller', async () => {
    const fields = {
      ...BODY,
      event_types: ['auth.*', 'org.created'],
      description: 'for the SIEM',
      active: false,
      sink: 'security',
      signatures: ['v1'],
      max_age: 60,
      rate_limit: 5,
      retry_policy: { delays_seconds: [1, 86400] },
      headers: { 'X-Team': 'blue', Authorization: 'Bearer t' },
      disable_after_days: 30,
    };
    const { status, body, text } = await rooms.send('POST', PATH, { ...fields, secret: OWN_SECRET });
    expect(status).toBe(201);
    expect(text).not.toContain(OWN_SECRET);
    expect(body).toMatchObject({ ...fields, headers: { 'x-team': '***', authorization: '***' } });
    expect(await readSecret(body.id)).toBe(OWN_SECRET);
    const { rows } = await rooms.database.query<{ headers_sealed: Buffer; retry_policy: unknown }>(
      'SELECT headers_sealed, retry_policy FROM subscriptions WHERE id = $1',
      [body.id],
    );
    expect(rooms.sealing.openHeaders(body.id, rows[0]?.headers_sealed ?? null)).toEqual({
      'x-team': 'blue',
      authorization: 'Bearer t',
    });
    expect(rows[0]?.retry_policy).toEqual({ delaysMs: [1_000, 86_400_000] });
  });

  it('replays an idempotent creation without its secret', async () => {
    const headers = { 'idempotency-key': 'create-1' };
    const first = await rooms.send('POST', PATH, BODY, headers);
    const again = await rooms.send('POST', PATH, BODY, headers);
    const { secret, ...rest } = first.body;
    expect(secret).toMatch(/^whsec_/);
    expect(again.status).toBe(201);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(again.body).toEqual(rest);
    expect((await rooms.send('POST', PATH, { ...BODY, max_age: 90 }, headers)).status).toBe(422);
    const { rows } = await rooms.database.query<{ kept: string }>(
      'SELECT body::text AS kept FROM idempotency_keys',
    );
    expect(rows.some(({ kept }) => kept.includes(secret))).toBe(false);
  });

  it.each([
    ['no url', { event_types: ['org.created'] }, 'body.url'],
    ['a plain http url', { ...BODY, url: 'http://example.com/' }, 'body.url'],
    ['a url with credentials', { ...BODY, url: 'https://a:b@example.com/' }, 'body.url'],
    ['a private address', { ...BODY, url: 'https://10.0.0.1/' }, 'body.url'],
    ['the metadata address in disguise', { ...BODY, url: 'https://0xa9fea9fe/' }, 'body.url'],
    ['no event types', { url: BODY.url, event_types: [] }, 'body.event_types'],
    ['too many event types', { ...BODY, event_types: Array(101).fill('a.b') }, 'body.event_types'],
    ['a malformed type', { ...BODY, event_types: ['a.b', 'x'] }, 'body.event_types.1'],
    ['a pattern for a standard sink', { ...BODY, event_types: ['a.*'], sink: 'standard' }, 'body.sink'],
    ['a weak secret', { ...BODY, secret: 'aaaa'.repeat(20) }, 'body.secret'],
    ['an unknown envelope', { ...BODY, envelope: 'cloudevents' }, 'body.envelope'],
    ['a short max_age', { ...BODY, max_age: 59 }, 'body.max_age'],
    ['a long max_age', { ...BODY, max_age: 3601 }, 'body.max_age'],
    [
      'a long delay',
      { ...BODY, retry_policy: { delays_seconds: [86_401] } },
      'body.retry_policy.delays_seconds.0',
    ],
    [
      'twenty delays',
      { ...BODY, retry_policy: { delays_seconds: Array(20).fill(1) } },
      'body.retry_policy.delays_seconds',
    ],
    ['no signature', { ...BODY, signatures: [] }, 'body.signatures'],
    ['an unknown signature', { ...BODY, signatures: ['v1', 'v2'] }, 'body.signatures.1'],
    ['a signature twice', { ...BODY, signatures: ['v1', 'v1'] }, 'body.signatures'],
    [
      'a token beside an Authorization of its own',
      { ...BODY, signatures: ['jwt'], headers: { Authorization: 'Bearer t' } },
      'body.signatures',
    ],
    ['a forbidden header', { ...BODY, headers: { host: 'x' } }, 'body.headers.host'],
    ['an unknown field', { ...BODY, filters: ['a.b'] }, 'body.filters'],
  ])('refuses %s and names the field', async (_title, body, path) => {
    const answer = await rooms.send('POST', PATH, body);
    expect(answer.status).toBe(400);
    expect(answer.body).toMatchObject({ error: 'invalid_request', errors: [{ path }] });
  });
});

describe('PUT /api/v1/webhooks/{id}', () => {
  it('changes what it names and ignores what only the service writes', async () => {
    const id = await rooms.subscribe({
      headers: { authorization: 'Bearer t' },
      event_types: ['org.created'],
    });
    const before = await readRow(id);
    const { status, body } = await rooms.send('PUT', `${PATH}/${id}`, {
      ...before,
      description: 'changed',
      event_types: ['org.*'],
      sink: 'security',
    });
    expect(status).toBe(200);
    expect(body).toEqual({
      ...before,
      description: 'changed',
      event_types: ['org.*'],
      sink: 'security',
      updated_at: body.updated_at,
    });
    const shown = await readRow(id);
    expect((await rooms.send('PUT', `${PATH}/${id}`, {})).body).toEqual(shown);
    const { rows } = await rooms.database.query<{ headers_sealed: Buffer }>(
      'SELECT headers_sealed FROM subscriptions WHERE id = $1',
      [id],
    );
    expect(rooms.sealing.openHeaders(id, rows[0]?.headers_sealed ?? null)).toEqual({
      authorization: 'Bearer t',
    });
    expect(await auditOf(id)).toEqual(['webhook.endpoint.created', 'webhook.endpoint.updated']);
  });

  it('refuses a secret, a pattern for a standard sink, and held without active', async () => {
    const id = await rooms.subscribe({ event_types: ['org.created'] });
    const put = async (body: unknown) => (await rooms.send('PUT', `${PATH}/${id}`, body)).body;
    expect(await put({ secret: OWN_SECRET })).toMatchObject({ errors: [{ path: 'body.secret' }] });
    expect(await put({ held: 'discard' })).toMatchObject({ errors: [{ path: 'body.held' }] });
    expect(await put({ event_types: ['org.*'], sink: 'standard' })).toMatchObject({
      errors: [{ path: 'body.sink' }],
    });
    expect(await put({ event_types: ['org.*'] })).toMatchObject({ sink: 'audit' });
  });

  it('holds deliveries while it is inactive, and lets them go when it is active', async () => {
    const id = await rooms.subscribe();
    await rooms.send('PUT', `${PATH}/${id}`, { active: false });
    const [delivery] = await rooms.publish(id);
    const read = async () => (await rooms.send('GET', `${PATH}/${id}/deliveries/${delivery}`)).body;
    expect(await read()).toMatchObject({ status: 'held', next_attempt_at: null });
    const active = await rooms.send('PUT', `${PATH}/${id}`, { active: true });
    expect(active.body).toMatchObject({ active: true, endpoint: { waiting: 1 } });
    expect(await read()).toMatchObject({ status: 'pending' });
    expect(await auditOf(id)).toEqual([
      'webhook.endpoint.created',
      'webhook.endpoint.deactivated',
      'webhook.endpoint.activated',
    ]);
  });

  it('cancels held deliveries on request, and only those', async () => {
    const id = await rooms.subscribe({ event_types: ['chain.ownership.changed'] });
    const [tried] = await rooms.publish(id, 1, 'chain.ownership.changed');
    await rooms.database.query(
      "UPDATE deliveries SET status = 'retrying', attempt_count = 1 WHERE subscription_id = $1",
      [id],
    );
    await rooms.send('PUT', `${PATH}/${id}`, { active: false });
    await rooms.publish(id, 3, 'chain.ownership.changed');
    await rooms.send('PUT', `${PATH}/${id}`, { active: true, held: 'discard' });
    const { body } = await rooms.send('GET', `${PATH}/${id}/deliveries`);
    expect(body.data.map(({ status }: { status: string }) => status)).toEqual([
      'canceled',
      'canceled',
      'canceled',
      'retrying',
    ]);
    expect(body.data.at(-1).id).toBe(tried);
    const { rows } = await rooms.database.query(
      "SELECT 1 FROM outbox o JOIN deliveries d ON d.id = o.delivery_id WHERE o.endpoint = $1 AND d.status = 'canceled'",
      [id],
    );
    expect(rows).toEqual([]);
    await rooms.publish(id, 1, 'chain.ownership.changed');
    await rooms.send('PUT', `${PATH}/${id}`, { active: true, held: 'discard' });
    const [newest] = (await rooms.send('GET', `${PATH}/${id}/deliveries?limit=1`)).body.data;
    expect(newest.status).toBe('pending');
  });

  it('discards only deliveries that wait because it was inactive, and says in the audit log how many', async () => {
    const id = await rooms.subscribe({ event_types: ['vault.key.created'] });
    const statuses = async () =>
      (await rooms.send('GET', `${PATH}/${id}/deliveries`)).body.data.map(
        (one: { status: string }) => one.status,
      );
    await rooms.publish(id, 2, 'vault.key.created');
    await rooms.database.query(
      "UPDATE endpoints SET state = 'held', hold_until = now() + interval '1 hour' WHERE subscription_id = $1",
      [id],
    );
    await rooms.send('PUT', `${PATH}/${id}`, { active: true, held: 'discard' });
    expect(await statuses()).toEqual(['held', 'held']);
    await rooms.send('PUT', `${PATH}/${id}`, { active: false });
    const refused = { active: true, held: 'discard', event_types: ['x.*'], sink: 'standard' };
    expect((await rooms.send('PUT', `${PATH}/${id}`, refused)).status).toBe(400);
    expect(await statuses()).toEqual(['held', 'held']);
    await rooms.send('PUT', `${PATH}/${id}`, { active: true, held: 'discard', description: 'anew' });
    expect(await statuses()).toEqual(['canceled', 'canceled']);
    const { rows } = await rooms.database.query(
      "SELECT data FROM audit_log WHERE target_id = $1 AND action = 'webhook.deliveries.discarded'",
      [id],
    );
    expect(rows).toEqual([{ data: { deliveries: 2 } }]);
    expect((await auditOf(id)).slice(-3)).toEqual([
      'webhook.endpoint.updated',
      'webhook.deliveries.discarded',
      'webhook.endpoint.activated',
    ]);
  });

  it('ends a hold when the URL changes, and otherwise not', async () => {
    const id = await rooms.subscribe();
    await rooms.database.query(
      "UPDATE endpoints SET state = 'held', hold_until = now() + interval '1 hour' WHERE subscription_id = $1",
      [id],
    );
    const state = async (body: unknown) =>
      (await rooms.send('PUT', `${PATH}/${id}`, body)).body.endpoint.state;
    expect(await state({ description: 'x', url: 'https://example.com/hook' })).toBe('held');
    expect(await state({ url: 'https://example.com/other' })).toBe('open');
  });
});

describe('DELETE /api/v1/webhooks/{id}', () => {
  it('removes it from sight and cancels its waiting deliveries immediately', async () => {
    const id = await rooms.subscribe({ event_types: ['vault.grant.revoked'] });
    const [delivery] = await rooms.publish(id, 1, 'vault.grant.revoked');
    expect((await rooms.send('DELETE', `${PATH}/${id}`)).status).toBe(204);
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['GET', '/deliveries'],
      ['GET', `/deliveries/${delivery}`],
    ] as const) {
      const body = method === 'PUT' ? {} : undefined;
      expect((await rooms.send(method, `${PATH}/${id}${path}`, body)).status).toBe(404);
    }
    expect((await rooms.send('GET', `/api/v1/deliveries/${delivery}`)).body).toMatchObject({
      status: 'canceled',
      completed_at: expect.any(String),
    });
    expect(await rooms.publish(id, 1, 'vault.grant.revoked')).toEqual([]);
    // Its row says so too, and no work is left behind.
    const { rows } = await rooms.database.query('SELECT status FROM deliveries WHERE id = $1', [delivery]);
    expect(rows).toEqual([{ status: 'canceled' }]);
    expect(await rooms.outboxOf(delivery ?? '')).toEqual([]);
  });
});

describe('events about subscriptions', () => {
  it('go to other subscriptions and never to the one they are about', async () => {
    const watcher = await rooms.subscribe({ event_types: ['webhook.*'], sink: 'audit' }, '/t/acme');
    const id = await rooms.subscribe({}, '/t/acme');
    await rooms.send('PUT', `/t/acme${PATH}/${id}`, { active: false });
    await rooms.send('DELETE', `/t/acme${PATH}/${id}`);
    const { rows } = await rooms.database.query<{
      subscription_id: string;
      event_type: string;
      body: Buffer;
    }>(
      `SELECT d.subscription_id, d.event_type, e.body FROM deliveries d JOIN events e ON e.id = d.event_row
       WHERE d.tenant_id = $1 ORDER BY d.id`,
      [rooms.acme.tenant.id],
    );
    expect(rows.map(({ subscription_id, event_type }) => [subscription_id, event_type])).toEqual([
      [watcher, 'webhook.endpoint.created'],
      [watcher, 'webhook.endpoint.deactivated'],
      [watcher, 'webhook.endpoint.deleted'],
    ]);
    expect(rows.some(({ body }) => body.includes('/hook'))).toBe(false);
  });

  it('tell why the service deactivated one, once', async () => {
    const id = await rooms.subscribe();
    const place = { tenantId: rooms.demo.tenant.id, subscriptionId: id };
    for (let n = 0; n < 2; n += 1)
      await rooms.database.transaction({}, (unit) => rooms.subscriptions.deactivateGone(unit, place));
    const { body } = await rooms.send('GET', `${PATH}/${id}`);
    expect(body).toMatchObject({ active: false, disabled_reason: 'gone' });
    expect(await auditOf(id)).toEqual(['webhook.endpoint.created', 'webhook.endpoint.deactivated']);
    const again = await rooms.send('PUT', `${PATH}/${id}`, { active: true });
    expect(again.body).toMatchObject({ active: true, disabled_reason: null });
  });
});

describe('tenants', () => {
  it('see nothing of each other', async () => {
    const id = await rooms.subscribe();
    for (const [method, path] of [
      ['GET', ''],
      ['PUT', ''],
      ['DELETE', ''],
      ['POST', '/test'],
      ['GET', '/deliveries'],
    ] as const) {
      const body = method === 'PUT' ? {} : undefined;
      expect((await rooms.send(method, `/t/acme${PATH}/${id}${path}`, body)).status).toBe(404);
    }
    const { body } = await rooms.send('GET', `/t/acme${PATH}?limit=200`);
    expect(body.data.map((one: { id: string }) => one.id)).not.toContain(id);
  });
});
