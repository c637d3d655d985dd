// One client cannot use up its tenant's limit by what it proves with its secret: docs/limits.md.
import { afterAll, expect, it } from 'vitest';
import { basic } from '../authentication/tokens/accounts.ts';
import { startTenants } from './tenants-server.ts';

/** A minute of the tenant; one client has four fifths of it. */
const LIMIT = 40;

const tenants = await startTenants(() => [], undefined, { RATE_LIMIT_TENANT: String(LIMIT) });
const { owner, stranger } = tenants;
afterAll(() => tenants.close());

it.each([
  ['introspects', '/oauth/introspect', { token: 'none' }, owner],
  ['revokes', '/oauth/revoke', { token: 'none' }, stranger],
])('a client that %s for ever leaves a fifth to the administrator', async (_, path, form, party) => {
  const made = await party.send('POST', '/api/v1/applications', { name: 'Greedy', scopes: ['openid'] });
  const greedy = basic(made.body.client_id, made.body.client_secret);
  const statuses: number[] = [];
  for (let n = 0; n < 2 * LIMIT; n += 1) statuses.push((await party.post(path, form, greedy)).status);
  const share = (4 / 5) * LIMIT;
  expect(statuses).toEqual([...Array(share).fill(200), ...Array(2 * LIMIT - share).fill(429)]);
  const asGreedy = await party.post('/oauth/token', { grant_type: 'client_credentials' }, greedy);
  expect(asGreedy.status).toBe(429);
  expect(asGreedy.headers.get('ratelimit-policy')).toContain('"tenant-client";q=32;w=60');
  expect((await party.post('/oauth/token', { grant_type: 'client_credentials' })).status).toBe(200);
  expect((await party.send('GET', '/api/v1/agents')).status).toBe(200);
});
