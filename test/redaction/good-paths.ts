// The good paths of the walk: everything that makes a secret, uses it and ends it, and a webhook that fails and
// recovers.
import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import {
  buildKeyProofPayload,
  buildPayloadOfResponse,
  type ChallengeResponse,
} from '../../packages/agent/src/payloads.ts';
import { encodeBase64, encodeBase64Url } from '../../src/platform/crypto/base64.ts';
import { fingerprint } from '../../src/platform/crypto/public-key.ts';
import { derivePublicKey, generatePrivateKey, signPayload } from '../platform/crypto/sign.ts';
import { eventually } from '../workflows/delivery-engine.ts';
import type { ScriptedReceiver } from '../workflows/scripted-receiver.ts';
import { type Processes, PUBLIC_URL } from './processes.ts';
import { listOperations, makeKey, type Walker } from './walk.ts';

const basic = (id: string, secret: string) => ({ authorization: `Basic ${btoa(`${id}:${secret}`)}` });

/** @returns an access token for management */
export async function obtainToken(
  { send }: Walker,
  { client_id, client_secret }: Processes['tenant'],
): Promise<string> {
  const headers = basic(client_id, client_secret);
  const { status, body } = await send('POST', '/oauth/token', {
    headers,
    form: { grant_type: 'client_credentials' },
  });
  expect(status, JSON.stringify(body)).toBe(200);
  return String(body.access_token);
}

/** An agent that enrolls, authenticates, refreshes, is found out when it repeats, and proves possession. */
export async function liveAsAgent(walker: Walker, { tenant }: Processes, token: string) {
  const { send, secrets } = walker;
  const headers = { authorization: `Bearer ${token}` };
  const agent = String((await send('POST', '/api/v1/agents', { headers, body: { name: 'Robot' } })).body.id);
  const at = `/api/v1/agents/${agent}`;
  const invited = await send('POST', `${at}/enrollment-tokens`, { headers, body: {} });
  const privateKey = generatePrivateKey('ed25519');
  for (const text of [
    Buffer.from(privateKey).toString('hex'),
    encodeBase64Url(privateKey),
    encodeBase64(privateKey),
  ])
    secrets.add('private key', text);
  const { raw } = derivePublicKey('ed25519', privateKey);
  const mark = fingerprint(raw);
  const proof = signPayload(
    'ed25519',
    privateKey,
    buildKeyProofPayload({ tenantId: tenant.tenant_id, agentId: agent, fingerprint: mark }),
  );
  const key = { algorithm: 'ed25519', public_key: encodeBase64(raw) };
  const enrolled = await send('POST', '/auth/agent/enroll', {
    body: { token: invited.body.token, ...key, proof },
  });
  expect(enrolled.status, JSON.stringify(enrolled.body)).toBe(201);
  const again = await send('POST', '/auth/agent/enroll', {
    body: { token: invited.body.token, ...key, proof },
  });
  expect(again.status).toBeGreaterThanOrEqual(400);

  // A private key in the place of the public one, in each form.
  const lost = makeKey(secrets, 'P-256');
  for (const public_key of [lost.pem, lost.privateJwk, encodeBase64(privateKey), `${lost.pem}x`])
    await send('POST', `${at}/keys`, { headers, body: { algorithm: 'es256', public_key } });

  const prover = makeKey(secrets, 'P-256');
  const logIn = async (extra: Record<string, string> = {}) => {
    const asked = { key_fingerprint: mark, scope: 'openid' };
    const { body } = await send('POST', '/auth/agent/challenge', { body: asked });
    const challenge = body as unknown as ChallengeResponse & { challenge_id: string };
    const signature = signPayload('ed25519', privateKey, buildPayloadOfResponse(challenge));
    secrets.add('challenge signature', signature);
    const answered = { challenge_id: challenge.challenge_id, signature, algorithm: 'ed25519' };
    const first = await send('POST', '/auth/agent/verify', { headers: extra, body: answered });
    await send('POST', '/auth/agent/verify', { body: { ...answered, signature: `A${signature.slice(1)}` } });
    return first;
  };
  const { status, body } = await logIn();
  expect(status, JSON.stringify(body)).toBe(200);
  const refresh = (refresh_token: unknown) =>
    send('POST', '/oauth/token', {
      form: { grant_type: 'refresh_token', refresh_token: String(refresh_token) },
    });
  const next = await refresh(body.refresh_token);
  await refresh(next.body.refresh_token);
  await refresh(secrets.plant('refresh token'));
  const own = { authorization: `Bearer ${String(next.body.access_token)}` };
  for (const path of ['/userinfo', '/auth/agent/self']) await send('GET', path, { headers: own });
  const nonce = (
    await logIn({ dpop: await prover.proof('POST', `${PUBLIC_URL}/auth/agent/verify`) })
  ).headers.get('dpop-nonce');
  const bound = await logIn({
    dpop: await prover.proof('POST', `${PUBLIC_URL}/auth/agent/verify`, nonce ?? ''),
  });
  const text = String(bound.body.access_token ?? next.body.access_token);
  for (const url of [`${PUBLIC_URL}/userinfo`, `${PUBLIC_URL}/elsewhere`]) {
    const dpop = await prover.proof('GET', url, bound.headers.get('dpop-nonce') ?? '', text);
    await send('GET', '/userinfo', { headers: { authorization: `DPoP ${text}`, dpop } });
  }
  return {
    agent,
    at,
    keyId: String(enrolled.body.key_id ?? ''),
    accessToken: text,
    refreshToken: String(next.body.refresh_token),
  };
}

/** Applications with a secret and with a key; introspection and revocation by them. */
export async function liveAsApplication({ send, secrets }: Walker, token: string, known: readonly string[]) {
  const headers = { authorization: `Bearer ${token}`, 'idempotency-key': secrets.plant('idempotency key') };
  const body = { name: 'shop', scopes: ['events:write'] };
  const made = await send('POST', '/api/v1/applications', { headers, body });
  await send('POST', '/api/v1/applications', { headers, body });
  const id = String(made.body.client_id);
  const added = await send('POST', `/api/v1/applications/${id}/secrets`, {
    headers: { authorization: headers.authorization },
    body: {},
  });
  const credentials = basic(id, String(added.body.client_secret));
  const wrong = basic(id, secrets.plant('client secret'));
  await send('POST', '/oauth/token', { headers: wrong, form: { grant_type: 'client_credentials' } });
  await send('POST', '/oauth/token', {
    form: {
      grant_type: 'client_credentials',
      client_id: id,
      client_secret: String(added.body.client_secret),
    },
  });
  const key = makeKey(secrets, 'ed25519');
  const jwks = { keys: [{ ...key.publicJwk, kid: 'k' }] };
  const keyed = await send('POST', '/api/v1/applications', {
    headers: { authorization: headers.authorization },
    body: { name: 'ops', scopes: ['agents:read'], jwks },
  });
  await send('POST', '/api/v1/applications', {
    headers: { authorization: headers.authorization },
    body: { name: 'x', scopes: [], jwks: { keys: [key.privateJwk] } },
  });
  expect(keyed.status, JSON.stringify(keyed.body)).toBe(201);
  const type = {
    grant_type: 'client_credentials',
    client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
  };
  const assertion = await key.assertion(String(keyed.body.client_id), PUBLIC_URL);
  const first = await send('POST', '/oauth/token', { form: { ...type, client_assertion: assertion } });
  expect(first.status, JSON.stringify(first.body)).toBe(200);
  const another = { ...type, client_assertion: assertion, scope: 'openid' };
  const repeated = await send('POST', '/oauth/token', { form: another });
  expect(repeated.status).toBe(401);
  const subject = {
    subject_token: known[0] ?? '',
    subject_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  };
  const actor = {
    actor_token: known[1] ?? '',
    actor_token_type: 'urn:ietf:params:oauth:token-type:access_token',
  };
  const grant = { grant_type: 'urn:ietf:params:oauth:grant-type:token-exchange' };
  await send('POST', '/oauth/token', { headers: credentials, form: { ...grant, ...subject, ...actor } });
  // Last, because it ends the token of this walk as well.
  for (const given of [credentials, wrong])
    for (const path of ['/oauth/introspect', '/oauth/revoke'])
      for (const presented of known) await send('POST', path, { headers: given, form: { token: presented } });
  return id;
}

/**
 * A webhook with a secret of the caller's and headers that are secrets; its receiver repeats them and refuses at first.
 */
export async function receiveEvents({ send, secrets }: Walker, token: string, receiver: ScriptedReceiver) {
  const headers = { authorization: `Bearer ${token}` };
  const path = `/${randomUUID()}`;
  const gateway = secrets.plant('custom header');
  receiver.answer(path, (_, count) => ({ status: count === 1 ? 500 : 204 }));
  const given = {
    url: `${receiver.url}${path}`,
    event_types: ['orders.order.placed'],
    secret: secrets.plant('webhook secret'),
    headers: { authorization: `Bearer ${gateway}`, 'x-api-key': secrets.plant('custom header') },
    retry_policy: { delays_seconds: [1, 1] },
  };
  const made = await send('POST', '/api/v1/webhooks', { headers, body: given });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  const webhook = String(made.body.id);
  await send('POST', '/api/v1/webhooks', {
    headers,
    body: { ...given, url: 'https://10.0.0.1/', secret: secrets.plant('webhook secret') },
  });
  await send('POST', `/api/v1/webhooks/${webhook}/secret/rotate`, { headers, body: {} });
  const event = { type: 'orders.order.placed', data: { order: 1 } };
  await send('POST', '/api/v1/events', {
    headers: { ...headers, 'idempotency-key': secrets.plant('idempotency key') },
    body: event,
  });
  await eventually(() => receiver.of(path).length >= 2, 'the second attempt');
  for (const request of receiver.of(path))
    for (const name of ['x-service-signature-256', 'x-service-signature-256-next'])
      if (request.headers[name] !== undefined)
        secrets.add('webhook signature', String(request.headers[name]).slice(7));
  const { body } = await send('GET', `/api/v1/webhooks/${webhook}/deliveries`, { headers });
  const delivery = String((body.data as { id?: string }[] | undefined)?.[0]?.id ?? randomUUID());
  return { webhook, delivery };
}

/** Every operation with a good token, known ids and the examples of the document. */
export async function askEverywhere(
  { ask }: Walker,
  token: string,
  ids: Readonly<Record<string, string>>,
): Promise<void> {
  const headers = { authorization: `Bearer ${token}` };
  for (const operation of listOperations()) {
    const hasBody = ['POST', 'PUT', 'PATCH'].includes(operation.method);
    const bodies = hasBody ? [...operation.examples, {}] : [undefined];
    for (const body of bodies)
      await ask(
        operation,
        ids,
        operation.isForm ? { headers, form: body as Record<string, string> } : { headers, body },
      );
  }
}
