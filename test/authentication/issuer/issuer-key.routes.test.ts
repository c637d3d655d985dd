// The routes of issuer keys as a tenant meets them.
import { afterAll, describe, expect, it } from 'vitest';
import { startTenants } from '../../isolation/tenants-server.ts';

const ROOT = '/api/v1/tenant/issuer-keys';

type Key = { kid: string; state: string; published_at: string; activate_at: string };

const tenants = await startTenants();
afterAll(() => tenants.close());

const keysOf = async (): Promise<Key[]> => (await tenants.owner.send('GET', ROOT)).body.data;

describe('the schedule', () => {
  it('tells each key’s moments, when the next one signs, and where the workflow is', async () => {
    const { status, body } = await tenants.owner.send('GET', ROOT);
    const tenantId = tenants.owner.credentials.tenant_id;
    expect(status).toBe(200);
    expect(body).toEqual({
      data: [
        {
          kid: expect.stringMatching(/^[\w-]{43}$/),
          algorithm: 'ES256',
          state: 'active',
          published_at: expect.any(String),
          activate_at: expect.any(String),
          retire_at: null,
          remove_at: null,
          revoked_at: null,
        },
      ],
      next_rotation_at: expect.any(String),
      workflow_id: `issuer-keys/${tenantId}`,
      workflow_url: expect.stringContaining(`issuer-keys%2F${tenantId}`),
    });
    const [first] = body.data as [Key];
    expect(Date.parse(body.next_rotation_at) - Date.parse(first.activate_at)).toBe(90 * 86_400_000);
    expect(JSON.stringify(body)).not.toContain('seal');
  });

  it('needs tenant:write, as the tenant itself does', async () => {
    const { owner } = tenants;
    const form = { grant_type: 'client_credentials', scope: 'agents:read' };
    const { body } = await owner.post('/oauth/token', form);
    for (const [method, path] of [
      ['GET', ROOT],
      ['POST', `${ROOT}/rotate`],
      ['POST', `${ROOT}/${'a'.repeat(43)}/revoke`],
    ] as const)
      expect((await owner.send(method, path, undefined, body.access_token)).body.error).toBe(
        'insufficient_scope',
      );
  });
});

describe('a rotation', () => {
  it('shows the next key, its activation ten minutes ahead, and the end of the present one', async () => {
    const { status, body } = await tenants.owner.send('POST', `${ROOT}/rotate`, { reason: 'drill' });
    expect(status).toBe(202);
    const [present, next] = body.data;
    expect([present.state, next.state]).toEqual(['active', 'published']);
    expect(Date.parse(next.activate_at) - Date.parse(next.published_at)).toBe(600_000);
    expect(present.retire_at).toBe(next.activate_at);
    expect(Date.parse(present.remove_at) - Date.parse(present.retire_at)).toBe(87_000_000);
    expect(body.next_rotation_at).toBe(next.activate_at);
    const again = await tenants.owner.send('POST', `${ROOT}/rotate`);
    expect(again.body.data).toEqual(body.data);
  });
});

describe('a revocation', () => {
  it.each([
    ['without a reason', 400, {}],
    ['with an empty one', 400, { reason: '' }],
    ['with more than it takes', 400, { reason: 'x', force: true }],
  ])('%s is refused', async (_, status, body) => {
    const [key] = await keysOf();
    expect((await tenants.owner.send('POST', `${ROOT}/${key?.kid}/revoke`, body)).status).toBe(status);
  });

  it.each(['x', 'a'.repeat(43)])('of the unknown key %s is 404', async (kid) => {
    const answer = await tenants.owner.send('POST', `${ROOT}/${kid}/revoke`, { reason: 'x' });
    expect([answer.status, answer.body.error]).toEqual([404, 'not_found']);
  });

  it('ends the token with which it was asked for, if the key signed that', async () => {
    const { owner } = tenants;
    const [key] = await keysOf();
    const answer = await owner.send('POST', `${ROOT}/${key?.kid}/revoke`, { reason: 'stolen' });
    expect(answer.status).toBe(200);
    expect(answer.body.data.map(({ state }: Key) => state)).toEqual(['revoked', 'active']);
    const refused = await owner.send('GET', ROOT);
    expect([refused.status, refused.body.error]).toEqual([401, 'token_revoked']);
    expect(refused.headers.get('www-authenticate')).toContain('error="invalid_token"');
    const { body: granted } = await owner.post('/oauth/token', { grant_type: 'client_credentials' });
    const later = await owner.send('GET', ROOT, undefined, granted.access_token);
    expect(later.body.data.map(({ state }: Key) => state)).toEqual(['revoked', 'active']);
    const { body: log } = await owner.send(
      'GET',
      '/api/v1/audit-logs?action=issuer.key.revoked',
      undefined,
      granted.access_token,
    );
    expect(log.data).toMatchObject([
      { target: { type: 'issuer_key', id: key?.kid }, data: { reason: 'stolen' } },
    ]);
  });
});

describe('the key of security event tokens', () => {
  it('is listed behind the others, and revoked by the same route', async () => {
    // The owner's token ended with a key that a test before has revoked.
    const { stranger: owner } = tenants;
    await owner.send('POST', '/api/v1/ssf/streams', {});
    const eventKey = (await owner.send('GET', ROOT)).body.data.at(-1);
    expect(eventKey).toMatchObject({ algorithm: 'RS256', state: 'active' });
    const jwks = async () => (await owner.send('GET', '/.well-known/ssf-jwks.json', undefined, null)).text;
    expect(await jwks()).toContain(eventKey.kid);
    const tokenKeys = await owner.send('GET', '/.well-known/jwks.json', undefined, null);
    expect(tokenKeys.text).not.toContain(eventKey.kid);
    const revoked = await owner.send('POST', `${ROOT}/${eventKey.kid}/revoke`, { reason: 'test' });
    expect(revoked.status).toBe(200);
    expect(revoked.body.data.find(({ kid }: Key) => kid === eventKey.kid).state).toBe('revoked');
    expect(await jwks()).not.toContain(eventKey.kid);
    expect((await owner.send('GET', ROOT)).status).toBe(200);
  });
});
