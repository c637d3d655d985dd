// What a stranger's issuer must refuse of a tenant's material, route by route: those that take no bearer token, so that
// no common rule tells.
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { SignJWT } from 'jose';
import {
  buildKeyProofPayload,
  buildPayloadOfResponse,
  buildRotationProofPayload,
  type ChallengeResponse,
} from '../../packages/agent/src/payloads.ts';
import { ASSERTION_TYPE } from '../../src/authentication/tokens/client-method.ts';
import { tryExchange } from './exchange-check.ts';
import { listingOf, makeAgent, newKeyPair } from './rows.ts';
import type { Answer, Party } from './tenants-server.ts';

type Parties = { readonly owner: Party; readonly stranger: Party };

/** Gives what should not have happened. */
export type IssuerCheck = (parties: Parties) => Promise<string[]>;

const CHALLENGE = '/auth/agent/challenge';
const VERIFY = '/auth/agent/verify';
const TOKEN = '/oauth/token';
const SESSION = '/console/session';

/** A finding unless the answer has this status and, for an error, this code. */
function expectAnswer(what: string, { status, body, text }: Answer, expected: [number, string?]): string[] {
  return status === expected[0] && body.error === expected[1] ? [] : [`${what}: ${status} ${text}`];
}

/** @returns the cookie of a session of the party's application */
async function signInToConsole(party: Party): Promise<string> {
  const { client_id, client_secret } = party.credentials;
  const { status, headers, text } = await party.send('POST', SESSION, { client_id, client_secret }, null);
  if (status !== 204) throw new Error(text);
  return headers.get('set-cookie')?.split(';')[0] ?? '';
}

/** An agent of the party with a key, and what is signed with it. */
async function makeSigner(party: Party) {
  const agentId = await makeAgent(party);
  const key = newKeyPair();
  const registered = await party.send('POST', `/api/v1/agents/${agentId}/keys`, key.body);
  if (registered.status !== 201) throw new Error(registered.text);
  const question = { key_fingerprint: key.fingerprint, scope: 'openid' };
  const answer = async () => {
    const { body: challenge } = await party.send('POST', CHALLENGE, question, null);
    return {
      challenge_id: challenge.challenge_id as string,
      signature: key.sign(buildPayloadOfResponse(challenge as ChallengeResponse)),
      algorithm: 'ed25519',
    };
  };
  return { agentId, key, question, answer };
}

/** An agent of the party with its key and tokens. */
async function authenticate(party: Party) {
  const signer = await makeSigner(party);
  const { status, body, text } = await party.send('POST', VERIFY, await signer.answer(), null);
  if (status !== 200) throw new Error(text);
  return { ...signer, access: body.access_token as string, refresh: body.refresh_token as string };
}

/** What an agent of the party sends to rotate a key that it says is its own. */
function rotationOf(party: Party, agentId: string, old: ReturnType<typeof newKeyPair>) {
  const fresh = newKeyPair();
  const payload = buildRotationProofPayload({
    tenantId: party.credentials.tenant_id,
    agentId,
    oldFingerprint: old.fingerprint,
    newFingerprint: fresh.fingerprint,
  });
  const proof = { old_key: old.sign(payload), new_key: fresh.sign(payload) };
  return { ...fresh.body, old_key_fingerprint: old.fingerprint, proof };
}

const refresh = (party: Party, token: string) =>
  party.post(TOKEN, { grant_type: 'refresh_token', refresh_token: token }, '');

/** A public document names its own issuer, and nothing of anybody else's. */
const publishesOwnOnly =
  (path: string): IssuerCheck =>
  async ({ owner, stranger }) => {
    const [own, other] = [
      await owner.send('GET', path, undefined, null),
      await stranger.send('GET', path, undefined, null),
    ];
    const ids = await owner.ids();
    return [
      ...(own.status === 200 && ids.some((id) => own.text.includes(id))
        ? []
        : [`says nothing of its own: ${own.text}`]),
      ...ids.filter((id) => other.text.includes(id)).map((id) => `told ${id}`),
    ];
  };

/** Whether an application's own key authenticates it elsewhere. */
async function tryAssertion({ owner, stranger }: Parties): Promise<string[]> {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const application = {
    name: 'Client',
    scopes: ['openid'],
    jwks: { keys: [publicKey.export({ format: 'jwk' })] },
  };
  const clientId: string = (await owner.send('POST', '/api/v1/applications', application)).body.client_id;
  const assert = async ({ credentials: { issuer_url: aud }, post }: Party) => {
    const claims = {
      iss: clientId,
      sub: clientId,
      aud,
      exp: Math.floor(Date.now() / 1_000) + 60,
      jti: randomUUID(),
    };
    const client_assertion = await new SignJWT(claims).setProtectedHeader({ alg: 'ES256' }).sign(privateKey);
    const form = {
      grant_type: 'client_credentials',
      client_assertion_type: ASSERTION_TYPE,
      client_assertion,
    };
    return post(TOKEN, form, '');
  };
  return [
    ...expectAnswer("the owner's assertion", await assert(stranger), [401, 'invalid_client']),
    ...expectAnswer('the assertion at home', await assert(owner), [200]),
  ];
}

/** By operationId. */
export const ISSUER_CHECKS: Readonly<Record<string, IssuerCheck>> = {
  getJwks: publishesOwnOnly('/.well-known/jwks.json'),
  getEventJwks: async ({ owner, stranger }) => {
    // The first stream makes the keys.
    const stream = await owner.send('POST', '/api/v1/ssf/streams', { description: randomUUID() });
    const at = (party: Party) => party.send('GET', '/.well-known/ssf-jwks.json', undefined, null);
    const [own, other] = [await at(owner), await at(stranger)];
    const kids: string[] = own.body.keys.map(({ kid }: { kid: string }) => kid);
    return [
      ...expectAnswer('a stream', stream, [201]),
      ...(kids.length > 0 ? [] : [`says nothing of its own: ${own.text}`]),
      ...kids.filter((kid) => other.text.includes(kid)).map((kid) => `told ${kid}`),
    ];
  },
  getWebhookJwks: publishesOwnOnly('/.well-known/webhook-jwks.json'),
  getIssuerMetadata: publishesOwnOnly('/.well-known/oauth-authorization-server'),
  getOpenIdConfiguration: publishesOwnOnly('/.well-known/openid-configuration'),
  getSsfConfiguration: publishesOwnOnly('/.well-known/ssf-configuration'),
  authorize: async ({ owner, stranger }) => {
    const at = (party: Party) => party.send('GET', '/oauth/authorize', undefined, null);
    const refused = [400, 'unsupported_response_type'] as const;
    return [
      ...expectAnswer('an authorization at home', await at(owner), [...refused]),
      ...expectAnswer('an authorization elsewhere', await at(stranger), [...refused]),
    ];
  },
  getResourceMetadata: publishesOwnOnly('/.well-known/oauth-protected-resource'),
  getAgentJwks: async ({ owner, stranger }) => {
    const { agentId } = await makeSigner(owner);
    const at = (party: Party) => party.send('GET', `/agents/${agentId}/jwks.json`, undefined, null);
    return [
      ...expectAnswer("the owner's agent", await at(stranger), [404, 'not_found']),
      ...expectAnswer('the agent at home', await at(owner), [200]),
    ];
  },

  createConsoleSession: async ({ owner, stranger }) => {
    const { client_id, client_secret } = owner.credentials;
    const at = (party: Party) => party.send('POST', SESSION, { client_id, client_secret }, null);
    const [own, other] = [await at(owner), await at(stranger)];
    return [
      ...expectAnswer("the owner's application", other, [401, 'invalid_client']),
      ...(own.status === 204 ? [] : [`refused at home: ${own.status} ${own.text}`]),
    ];
  },

  createConsoleToken: async ({ owner, stranger }) => {
    const cookie = await signInToConsole(owner);
    const at = (party: Party) => party.send('POST', '/console/token', undefined, null, { cookie });
    return [
      ...expectAnswer("the owner's session", await at(stranger), [401, 'invalid_token']),
      ...expectAnswer('the session at home', await at(owner), [200]),
    ];
  },

  deleteConsoleSession: async ({ owner, stranger }) => {
    const cookie = await signInToConsole(owner);
    await stranger.send('DELETE', SESSION, undefined, null, { cookie });
    const after = await owner.send('POST', '/console/token', undefined, null, { cookie });
    return expectAnswer('the session at home', after, [200]);
  },

  issueChallenge: async ({ owner, stranger }) => {
    const { question } = await makeSigner(owner);
    const at = (party: Party) => party.send('POST', CHALLENGE, question, null);
    return [
      ...expectAnswer("the owner's fingerprint", await at(stranger), [404, 'key_not_found']),
      ...expectAnswer('the fingerprint at home', await at(owner), [200]),
    ];
  },

  verifyChallenge: async ({ owner, stranger }) => {
    const answer = await (await makeSigner(owner)).answer();
    return [
      ...expectAnswer("the owner's challenge", await stranger.send('POST', VERIFY, answer, null), [
        400,
        'invalid_grant',
      ]),
      ...expectAnswer('the challenge at home', await owner.send('POST', VERIFY, answer, null), [200]),
    ];
  },

  getSelf: async ({ owner, stranger }) => {
    const { access } = await authenticate(owner);
    const at = (party: Party) => party.send('GET', '/auth/agent/self', undefined, access);
    return [
      ...expectAnswer("the token of the owner's agent", await at(stranger), [401, 'invalid_token']),
      ...expectAnswer('the token at home', await at(owner), [200]),
    ];
  },

  getKeyDirectory: async ({ owner, stranger }) => {
    const { agentId, key } = await makeSigner(owner);
    const path = `/api/v1/agents/${agentId}/directory-signature`;
    const kept = await owner.send('PUT', path, listingOf(owner, key));
    const directoryOf = (party: Party) =>
      party.send('GET', '/.well-known/http-message-signatures-directory', undefined, null);
    const [own, other] = [await directoryOf(owner), await directoryOf(stranger)];
    return [
      ...expectAnswer('the signature', kept, [200]),
      ...(own.text.includes(key.thumbprint) ? [] : [`says nothing of its own: ${own.text}`]),
      ...(other.text.includes(key.thumbprint) ? ["told the owner's key"] : []),
    ];
  },

  depositOwnDirectorySignature: async ({ owner, stranger }) => {
    const { access, key } = await authenticate(owner);
    const at = (party: Party) =>
      party.send('PUT', '/auth/agent/directory-signature', listingOf(party, key), access);
    return [
      ...expectAnswer("the token of the owner's agent", await at(stranger), [401, 'invalid_token']),
      ...expectAnswer('the token at home', await at(owner), [200]),
    ];
  },

  rotateOwnKey: async ({ owner, stranger }) => {
    const [own, other] = [await authenticate(owner), await authenticate(stranger)];
    const rotate = (party: Party, agentId: string, token: string) =>
      party.send('POST', '/auth/agent/keys/rotate', rotationOf(party, agentId, own.key), token);
    return [
      ...expectAnswer("the owner's agent", await rotate(stranger, own.agentId, own.access), [
        401,
        'invalid_token',
      ]),
      ...expectAnswer("the owner's key", await rotate(stranger, other.agentId, other.access), [
        400,
        'invalid_request',
      ]),
      ...expectAnswer('the rotation at home', await rotate(owner, own.agentId, own.access), [202]),
    ];
  },

  enrollAgent: async ({ owner, stranger }) => {
    const agentId = await makeAgent(owner);
    const { body: made } = await owner.send('POST', `/api/v1/agents/${agentId}/enrollment-tokens`, {});
    const key = newKeyPair();
    const enroll = (party: Party) => {
      const tenantId = party.credentials.tenant_id;
      const proof = key.sign(buildKeyProofPayload({ tenantId, agentId, fingerprint: key.fingerprint }));
      return party.send('POST', '/auth/agent/enroll', { ...key.body, token: made.token, proof }, null);
    };
    return [
      ...expectAnswer("the owner's enrollment token", await enroll(stranger), [400, 'invalid_grant']),
      ...expectAnswer('the enrollment token at home', await enroll(owner), [201]),
    ];
  },

  requestToken: async ({ owner, stranger }) => {
    const credentials = await stranger.post(TOKEN, { grant_type: 'client_credentials' }, owner.authorization);
    const [tokens, other] = [await authenticate(owner), await authenticate(stranger)];
    const exchanged = await tryExchange({ owner, stranger }, { owner: tokens, stranger: other });
    return [
      ...expectAnswer("the owner's agent in an exchange", exchanged.foreignActor, [400, 'invalid_request']),
      ...expectAnswer("the owner's trusted issuer", exchanged.untrustedIssuer, [400, 'invalid_request']),
      ...expectAnswer("the owner's delegation", exchanged.foreignDelegation, [400, 'invalid_grant']),
      ...expectAnswer('the exchange at home', exchanged.home, [200]),
      ...expectAnswer("the owner's secret", credentials, [401, 'invalid_client']),
      ...(await tryAssertion({ owner, stranger })),
      ...expectAnswer("the owner's refresh token", await refresh(stranger, tokens.refresh), [
        400,
        'invalid_grant',
      ]),
      ...expectAnswer('the refresh token at home', await refresh(owner, tokens.refresh), [200]),
    ];
  },

  introspectToken: async ({ owner, stranger }) => {
    const tokens = await authenticate(owner);
    const found: string[] = [];
    for (const token of [tokens.access, tokens.refresh, owner.token]) {
      const elsewhere = await stranger.post('/oauth/introspect', { token });
      if (elsewhere.status !== 200 || elsewhere.text !== '{"active":false}')
        found.push(`knows the owner's token: ${elsewhere.text}`);
      const atHome = await owner.post('/oauth/introspect', { token });
      if (atHome.body.active !== true) found.push(`says nothing at home: ${atHome.text}`);
    }
    const client = await stranger.post('/oauth/introspect', { token: tokens.access }, owner.authorization);
    return [...found, ...expectAnswer("the owner's secret", client, [401, 'invalid_client'])];
  },

  revokeToken: async ({ owner, stranger }) => {
    const tokens = await authenticate(owner);
    const found: string[] = [];
    for (const token of [tokens.access, tokens.refresh]) {
      // As for a token that never was (RFC 7009 §2.2), and it goes on living.
      const answer = await stranger.post('/oauth/revoke', { token });
      found.push(...expectAnswer("the owner's token", answer, [200]));
      const alive = await owner.post('/oauth/introspect', { token });
      if (alive.body.active !== true) found.push('ended a token of the owner');
    }
    const client = await stranger.post('/oauth/revoke', { token: tokens.access }, owner.authorization);
    return [...found, ...expectAnswer("the owner's secret", client, [401, 'invalid_client'])];
  },
};
