// Workload issuers over HTTP: what is stored and shown, and what is refused with which field.
import { afterAll, expect, it } from 'vitest';
import { operatorContext } from '../../../src/audit/audit.ts';
import { newId } from '../../../src/platform/database/ids.ts';
import { createTestAgent } from '../../identity/agents/agent-rooms.ts';
import { startTestServer, tokenFor } from '../../platform/http/test-server.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { newKey } from '../trusted-issuers/identity-provider.ts';
import { createWorkloadRooms } from './workload-rooms.ts';

const ROOT = '/api/v1/workload-issuers';

const test = await useTestDatabase();
const headers = {
  authorization: `Bearer ${tokenFor('admin', 'agents:read', 'agents:write', 'agents:capabilities', 'openid')}`,
};

const rooms = createWorkloadRooms(test.database);
await rooms.tenants.create({ slug: 'demo' });
const tenant = await rooms.tenants.bySlug('demo');
if (tenant === undefined) throw new Error('the tenant was not made');
const { agent } = await createTestAgent(rooms, operatorContext(tenant, newId()), { scopes: ['openid'] });
const agentId = agent.id;
const { jwk } = await newKey();
const server = await startTestServer(rooms.routes, { database: test.database, tenants: rooms.tenants });
afterAll(async () => {
  await server.drain(0);
  await rooms.closeWorkloads();
});

let names = 0;
const newBody = (more: object = {}) => {
  names += 1;
  return {
    issuer: `https://issuer-${names}.example`,
    jwks: { keys: [jwk] },
    audiences: ['https://id.example'],
    rules: [{ agent_id: agentId, claims: { sub: 'system:serviceaccount:shop:*' } }],
    ...more,
  };
};
const create = (more: object = {}) => server.send('POST', ROOT, newBody(more), headers);

it('is created, read, listed, changed and deleted', async () => {
  const sent = newBody();
  const made = await server.send('POST', ROOT, sent, headers);
  expect(made.status).toBe(201);
  const path = `${ROOT}/${made.body.id}`;
  expect(made.headers.get('location')).toContain(path);
  expect(made.body).toEqual({
    id: expect.any(String),
    issuer: sent.issuer,
    jwks_uri: null,
    jwks: { keys: [expect.objectContaining({ kty: 'EC', kid: 'key-ES256' })] },
    audiences: sent.audiences,
    rules: sent.rules,
    last_fetch: null,
    created_at: expect.any(String),
    updated_at: expect.any(String),
  });
  expect((await server.send('GET', path, undefined, headers)).body).toEqual(made.body);
  const listed = await server.send('GET', `${ROOT}?issuer=${sent.issuer}`, undefined, headers);
  expect(listed.body.data).toEqual([made.body]);
  const rules = [{ agent_id: agentId, claims: { '/kubernetes.io/namespace': 'shop' } }];
  const changed = await server.send('PATCH', path, { rules }, headers);
  expect(changed.body).toMatchObject({ rules, audiences: sent.audiences });
  expect((await server.send('POST', ROOT, sent, headers)).body.error).toBe('conflict');
  expect((await server.send('DELETE', path, undefined, headers)).status).toBe(204);
  expect((await server.send('GET', path, undefined, headers)).status).toBe(404);
  const { rows } = await test.database.query<{ action: string }>(
    'SELECT action FROM audit_log WHERE target_id = $1 ORDER BY id',
    [made.body.id],
  );
  expect(rows.map(({ action }) => action)).toEqual([
    'workload_issuer.created',
    'workload_issuer.updated',
    'workload_issuer.deleted',
  ]);
});

it('takes the bundle of a trust domain, without its keys for X.509-SVIDs', async () => {
  const x509 = { ...jwk, kid: undefined, use: 'x509-svid', x5c: ['MIIB'] };
  const bundle = {
    keys: [x509, { ...jwk, use: 'jwt-svid' }],
    spiffe_sequence: 1,
    spiffe_refresh_hint: 300,
  };
  const rules = [{ agent_id: agentId, claims: { sub: 'spiffe://example.org/shop/*' } }];
  const { status, body } = await create({ issuer: 'spiffe://example.org', jwks: bundle, rules });
  expect(status).toBe(201);
  expect(body.jwks).toEqual({ keys: [expect.objectContaining({ use: 'jwt-svid' })] });
});

it.each<[string, object, string]>([
  ['an issuer over http', { issuer: 'http://a.example' }, 'body.issuer'],
  ['a SPIFFE ID as issuer', { issuer: 'spiffe://example.org/a' }, 'body.issuer'],
  ['no keys', { jwks: undefined }, 'body.jwks_uri'],
  ['keys and their address', { jwks_uri: 'https://a.example/keys' }, 'body.jwks'],
  ['an address in the network', { jwks: null, jwks_uri: 'https://169.254.169.254/keys' }, 'body.jwks_uri'],
  ['an address over http', { jwks: null, jwks_uri: 'http://a.example/keys' }, 'body.jwks_uri'],
  ['no audience', { audiences: [] }, 'body.audiences'],
  ['a rule without claims', { rules: [{ agent_id: '$agent', claims: {} }] }, 'body.rules.0.claims'],
  [
    'a rule for everybody',
    { rules: [{ agent_id: '$agent', claims: { sub: '*' } }] },
    'body.rules.0.claims.sub',
  ],
  [
    'a rule for an unknown agent',
    { rules: [{ agent_id: '0199a1b2-7c3d-7e4f-8a5b-6c7d8e9f0a1b', claims: { sub: 'x' } }] },
    'body.rules.0.agent_id',
  ],
])('refuses %s', async (_name, more, path) => {
  const named = JSON.parse(JSON.stringify(more).replace('$agent', agentId));
  const { status, body } = await create({ ...more, ...named });
  expect([status, body.error]).toEqual([400, 'invalid_request']);
  expect(body.errors).toEqual([expect.objectContaining({ path: expect.stringContaining(path) })]);
});

it('refuses a private key', async () => {
  const { body } = await create({ jwks: { keys: [{ ...jwk, d: 'AQ' }] } });
  expect(body.error).toBe('invalid_request');
});
