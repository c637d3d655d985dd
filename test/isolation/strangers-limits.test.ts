// Strangers who use up their share of a tenant's limit lock out none of its own: docs/limits.md.
import { afterAll, expect, it } from 'vitest';
import { buildPayloadOfResponse, type ChallengeResponse } from '../../packages/agent/src/payloads.ts';
import { newKeyPair } from './rows.ts';
import { type Answer, startTenants } from './tenants-server.ts';

/** A minute of the tenant; strangers without a credential have half of it, refused requests a tenth. */
const LIMIT = 40;
const HOME = '203.0.113.1';
const NEW = '203.0.113.2';

const tenants = await startTenants(() => [], undefined, {
  RATE_LIMIT_TENANT: String(LIMIT),
  TRUSTED_PROXIES: '127.0.0.1/32,::1/128',
});
const agent = newKeyPair();
const { body } = await tenants.owner.send('POST', '/api/v1/agents', { name: 'Robot', scopes: ['openid'] });
await tenants.owner.send('POST', `/api/v1/agents/${body.id}/keys`, agent.body);
afterAll(() => tenants.close());

const send = (path: string, body: object, address: string): Promise<Answer> =>
  tenants.owner.send('POST', path, body, null, { 'x-forwarded-for': address });
const challenge = (address: string) =>
  send('/auth/agent/challenge', { key_fingerprint: agent.fingerprint, scope: 'openid' }, address);
async function logIn(address: string): Promise<number> {
  const { status, body } = await challenge(address);
  if (status !== 200) return status;
  const signature = agent.sign(buildPayloadOfResponse(body as ChallengeResponse));
  const answer = { challenge_id: body.challenge_id, signature, algorithm: 'ed25519' };
  return (await send('/auth/agent/verify', answer, address)).status;
}
/** A token by a client secret, from an address from which nothing has come before. */
async function getToken(secret: string): Promise<number> {
  const { client_id: id, issuer_url: issuer } = tenants.owner.credentials;
  const authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
  const body = new URLSearchParams({ grant_type: 'client_credentials' });
  const headers = { authorization, 'x-forwarded-for': NEW };
  return (await fetch(`${issuer}/oauth/token`, { method: 'POST', headers, body })).status;
}

it('a tenant’s own logins and tokens go on while strangers ask for challenges and try secrets', async () => {
  expect(await logIn(HOME)).toBe(200);
  const strangers = Array.from({ length: LIMIT }, (_, n) => `198.51.100.${n}`);
  const answers = [];
  for (const address of strangers) answers.push((await challenge(address)).status);
  expect(answers).toContain(200);
  expect(answers.slice(LIMIT / 2)).not.toContain(200);
  for (const _ of strangers) expect([401, 429]).toContain(await getToken('wrong'));

  expect(await getToken(tenants.owner.credentials.client_secret)).toBe(200);
  expect(await logIn(HOME)).toBe(200);
  expect((await tenants.owner.send('GET', '/api/v1/agents')).status).toBe(200);
  expect((await tenants.owner.send('GET', '/.well-known/jwks.json', undefined, null)).status).toBe(200);
});
