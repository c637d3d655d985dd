// What every answer of the routes that clients authenticate at has, whatever it says: no cache may keep it, and a
// client can read it.
import { afterAll, describe, expect, it } from 'vitest';
import { useTestDatabase } from '../../setup/database.ts';
import { provisionTenant } from './accounts.ts';
import { startAccountsServer } from './accounts-server.ts';

const FORM = 'application/x-www-form-urlencoded';

const test = await useTestDatabase();

const server = await startAccountsServer(test.database);
const { authorization } = await provisionTenant(server.accounts, 'demo');
afterAll(async () => {
  await server.close();
  await server.accounts.clientRecords.close();
});

type Request = { method?: string; query?: string; type?: string; body?: string; anonymous?: true };

const ANSWERS: [string, Request, number, string | undefined][] = [
  [
    'without credentials',
    { anonymous: true, body: 'token=x&grant_type=client_credentials' },
    401,
    'invalid_client',
  ],
  [
    'with parameters in the query',
    { query: '?grant_type=client_credentials&token=x' },
    400,
    'invalid_request',
  ],
  ['with a repeated parameter', { body: 'token=x&token=y' }, 400, 'invalid_request'],
  ['with U+0000', { body: 'token=a\0b' }, 400, 'invalid_request'],
  ['with JSON', { type: 'application/json', body: '{}' }, 415, 'unsupported_media_type'],
  ['that is too large', { body: `token=${'x'.repeat(1_100_000)}` }, 413, 'payload_too_large'],
  ['by another method', { method: 'PUT', body: 'token=x' }, 405, 'method_not_allowed'],
];

describe.each(['/oauth/token', '/oauth/introspect', '/oauth/revoke'])('%s', (path) => {
  const ask = async ({ method = 'POST', query = '', type = FORM, body = '', anonymous }: Request) => {
    const headers = { 'content-type': type, ...(anonymous ? {} : { authorization }) };
    return fetch(`${server.origin}${path}${query}`, { method, headers, body });
  };

  it.each(ANSWERS)(
    'answers a request %s as OAuth clients read it, and for no cache',
    async (_name, request, status, code) => {
      const response = await ask(request);
      expect([response.status, response.headers.get('cache-control')]).toEqual([status, 'no-store']);
      expect(response.headers.get('content-type')).toMatch(/^application\/json/);
      expect(response.headers.get('x-request-id')).toMatch(/./);
      const body = await response.json();
      expect(body).toMatchObject({ error: code, status, error_description: body.detail });
      expect(body.type).toBe(`https://errors.example/${code?.replaceAll('_', '-')}`);
    },
  );

  it('answers what it grants for no cache too', async () => {
    const response = await ask({ body: 'token=x&grant_type=client_credentials' });
    expect([response.status, response.headers.get('cache-control')]).toEqual([200, 'no-store']);
  });
});
