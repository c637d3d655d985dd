// The kinds of abuse that `npm run bench -- abuse` measures: the requests of each, and what a tenant needs for them.
import { createPrivateKey, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { buildPayloadOfResponse } from './keys.mjs';
import { basic, call } from './service.mjs';

const JSON_TYPE = { 'content-type': 'application/json' };
const FORM_TYPE = { 'content-type': 'application/x-www-form-urlencoded' };

/** A request of each kind; `n` counts the requests of a connection. */
export const KINDS = {
  'key set': () => ({ method: 'GET', path: '/.well-known/jwks.json' }),
  tokens: ({ authorization }) => ({
    path: '/oauth/token',
    headers: { authorization, ...FORM_TYPE },
    body: 'grant_type=client_credentials&scope=openid',
  }),
  'wrong secrets': ({ clientId }) => ({
    path: '/oauth/token',
    headers: { authorization: basic(clientId, 'wrong'), ...FORM_TYPE },
    body: 'grant_type=client_credentials',
  }),
  challenges: ({ fingerprint }) => ({
    path: '/auth/agent/challenge',
    headers: JSON_TYPE,
    body: JSON.stringify({ key_fingerprint: fingerprint, scope: 'openid' }),
  }),
  'one refresh token': ({ refreshToken }) => ({
    path: '/oauth/token',
    headers: FORM_TYPE,
    body: `grant_type=refresh_token&refresh_token=${refreshToken}`,
  }),
  'lists of agents': ({ bearer }) => ({ method: 'GET', path: '/api/v1/agents?limit=50', headers: bearer }),
  'new agents': ({ bearer }) => ({
    path: '/api/v1/agents',
    headers: { ...bearer, ...JSON_TYPE },
    body: '{"name":"Robot"}',
  }),
  'changes of one agent': ({ bearer, agentId }, n) => ({
    method: 'PATCH',
    path: `/api/v1/agents/${agentId}`,
    headers: { ...bearer, ...JSON_TYPE },
    body: JSON.stringify({ name: `Robot ${n} ${randomUUID()}` }),
  }),
  'publishing, each with its key': ({ bearer }) => ({
    path: '/api/v1/events',
    headers: { ...bearer, ...JSON_TYPE, 'idempotency-key': randomUUID() },
    body: PUBLICATION,
  }),
  'pages of the feed': ({ bearer }) => ({ method: 'GET', path: FEED, headers: bearer }),
  'answers that nobody takes': ({ bearer }) => ({ method: 'GET', path: FEED, headers: bearer }),
  'readers that wait': ({ bearer }) => ({
    method: 'GET',
    path: '/api/v1/events?type=nothing.comes&wait=2',
    headers: bearer,
  }),
  'bodies of a MB with an emoji': ({ bearer }) => ({
    path: '/api/v1/events',
    headers: { ...bearer, ...JSON_TYPE },
    body: WIDE,
  }),
  'bodies that stall': ({ bearer }) => ({
    path: '/api/v1/events',
    headers: { ...bearer, ...JSON_TYPE },
    body: WIDE,
  }),
  'pipelined bursts': ({ bearer }) => ({ method: 'GET', path: '/api/v1/agents?limit=1', headers: bearer }),
  'introspection by one client': ({ authorization, bearer }) => ({
    path: '/oauth/introspect',
    headers: { authorization, ...FORM_TYPE },
    body: `token=${bearer.authorization.slice('Bearer '.length)}`,
  }),
  'valid tokens behind one address': ({ bearer }) => ({
    method: 'GET',
    path: '/api/v1/agents?limit=1',
    headers: bearer,
  }),
  'polls of a stream': ({ bearer, streamId }) => ({
    path: `/api/v1/ssf/streams/${streamId}/poll`,
    headers: { ...bearer, ...JSON_TYPE },
    body: '{"returnImmediately":true}',
  }),
  'long bodies that are refused': ({ bearer }) => ({
    path: '/api/v1/agents',
    headers: { ...bearer, ...JSON_TYPE },
    body: LONG,
  }),
  'publications that are refused': ({ bearer }) => ({
    path: '/api/v1/events',
    headers: { ...bearer, ...JSON_TYPE },
    body: LARGE,
  }),
  'long publications that are refused': ({ bearer }) => ({
    path: '/api/v1/events',
    headers: { ...bearer, ...JSON_TYPE },
    body: MANY,
  }),
  documents: ({ bearer }, n) => ({
    method: 'GET',
    path: ['/api/v1/asyncapi.json', '/docs', '/.well-known/oauth-authorization-server'][n % 3] ?? '',
    headers: bearer,
  }),
  'keys of an issuer that hangs': hanging,
  'keys that hang in the own tenant': hanging,
  'unknown paths': (_, n) => ({ method: 'GET', path: `/unknown/${n}` }),
  'large bodies': () => ({
    path: '/auth/agent/challenge',
    headers: JSON_TYPE,
    body: LARGE,
  }),
  'fan-out of one tenant': ({ bearer }) => ({
    path: '/api/v1/events',
    headers: { ...bearer, ...JSON_TYPE },
    body: PUBLICATION,
  }),
};

/** A stranger's assertion of the issuer, with an invented key: it is judged when the keys have come. */
function hanging({ issuer }) {
  const part = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { iss: issuer, sub: 'pod', aud: issuer, jti: randomUUID(), exp: 4_000_000_000 };
  const assertion = `${part({ alg: 'ES256', kid: randomUUID() })}.${part(claims)}.${'A'.repeat(86)}`;
  return {
    path: '/oauth/token',
    headers: FORM_TYPE,
    body: `grant_type=${encodeURIComponent('urn:ietf:params:oauth:grant-type:jwt-bearer')}&assertion=${assertion}`,
  };
}

const PUBLICATION = JSON.stringify({
  type: 'commerce.payment.succeeded',
  data: {
    payment_id: 'pay-501',
    order_id: 'o-1001',
    amount: '12.50',
    currency: 'EUR',
    paid_at: '2026-01-01T00:00:00Z',
  },
});
const FEED = '/api/v1/events?limit=200';

/** Bodies of about as many members as a parser takes in one value, of 128 KiB and of 1 MiB, and one of many more. */
const members = (count, size = 1) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`k${n}`, '1'.repeat(size)])));
const LONG = members(9_000);
const MANY = members(9_900, 90);
const LARGE = members(60_000);
/** Its text takes two bytes a character of the heap. */
const WIDE = JSON.stringify({ type: 'load.tried', data: { text: `😀${'x'.repeat(1_000_000)}` } });

/**
 * What a kind needs beyond its requests: more connections, another way of sending them (abuse.mjs), that the quiet load
 * is of the same tenant, a service that asks for key sets on this machine, or how many subscriptions get its events: the
 * quiet load then publishes, and nothing else.
 */
export const MANNERS = {
  'answers that nobody takes': { way: 'untaken' },
  'bodies of a MB with an emoji': { connections: 150 },
  'bodies that stall': { way: 'stalled', connections: 150 },
  'pipelined bursts': { way: 'pipelined', connections: 20 },
  'valid tokens behind one address': { connections: 256 },
  'keys of an issuer that hangs': { connections: 24, asksHere: true },
  'keys that hang in the own tenant': { connections: 24, asksHere: true, isWithin: true },
  'readers that wait': { connections: 300 },
  // With its stream as many as a tenant may have.
  'fan-out of one tenant': { subscriptions: 999 },
};

/** Makes as many inactive subscriptions to all events of a tenant. */
export async function subscribe(port, { prefix, bearer }, count) {
  const body = JSON.stringify({ url: 'https://example.com/hook', event_types: ['*'], active: false });
  for (let n = 0; n < count; n += 1)
    await call(`http://127.0.0.1:${port}${prefix}/api/v1/webhooks`, {
      headers: { ...bearer, ...JSON_TYPE },
      body,
    });
}

/**
 * Credentials, a token, an agent with a key, and a spent refresh token of a tenant; a megabyte of events, a stream with
 * tokens, and a workload issuer.
 * @param keysUri where the issuer's keys are; without it the tenant has no issuer
 */
export async function openParty(port, { slug, client_id: clientId, client_secret: secret }, keysUri) {
  const origin = `http://127.0.0.1:${port}/t/${slug}`;
  const authorization = basic(clientId, secret);
  const ask = (path, headers, body, method = 'POST') => call(origin + path, { method, headers, body });
  const form = (text, headers = {}) => ask('/oauth/token', { ...FORM_TYPE, ...headers }, text);
  const { access_token: token } = await form('grant_type=client_credentials', { authorization });
  const bearer = { authorization: `Bearer ${token}` };
  const json = (path, body, headers = {}) => ask(path, { ...JSON_TYPE, ...headers }, JSON.stringify(body));
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const agent = await json('/api/v1/agents', { name: 'Robot' }, bearer);
  const key = await json(
    `/api/v1/agents/${agent.id}/keys`,
    { algorithm: 'ed25519', public_key: publicKey.export({ format: 'jwk' }).x },
    bearer,
  );
  const challenge = await json('/auth/agent/challenge', {
    key_fingerprint: key.fingerprint,
    scope: 'openid',
  });
  const signature = sign(
    null,
    buildPayloadOfResponse(challenge),
    createPrivateKey(privateKey.export({ type: 'pkcs8', format: 'pem' })),
  ).toString('base64');
  const verified = await json('/auth/agent/verify', {
    challenge_id: challenge.challenge_id,
    signature,
    algorithm: 'ed25519',
  });
  const stream = await json('/api/v1/ssf/streams', { delivery: { method: 'urn:ietf:rfc:8936' } }, bearer);
  const workloads = {
    issuer: `https://pods-${slug}.example`,
    jwks_uri: keysUri,
    audiences: [`https://pods-${slug}.example`],
    rules: [{ agent_id: agent.id, claims: { sub: 'pod' } }],
  };
  if (keysUri !== undefined) await json('/api/v1/workload-issuers', workloads, bearer);
  const robots = Array.from({ length: 16 }, () => json('/api/v1/agents', { name: 'Robot' }, bearer));
  for (const { id } of await Promise.all(robots))
    await ask(`/api/v1/agents/${id}/suspend`, { ...bearer, ...JSON_TYPE }, '{}', 'PATCH');
  for (let n = 0; n < 256; n += 1)
    await json('/api/v1/events', { type: 'load.filled', data: { n, text: 'x'.repeat(4_000) } }, bearer);
  return {
    prefix: `/t/${slug}`,
    streamId: stream.stream_id,
    issuer: workloads.issuer,
    clientId,
    authorization,
    bearer,
    agentId: agent.id,
    fingerprint: key.fingerprint,
    refreshToken: verified.refresh_token,
  };
}
