// A resource server of a tenant with the profile fapi2, beside the whole service: its application has a key and no
// secret, and every token is bound to a key, the one for the feed too.
import { exportJWK } from 'jose';
import * as oauth from 'oauth4webapi';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createProver } from '../../../packages/agent/src/dpop.ts';
import { createAgent } from '../../../packages/agent/src/index.ts';
import { importSigner } from '../../../packages/agent/src/private-key.ts';
import { describeSigner } from '../../../packages/agent/src/signer.ts';
import type { ClientCredentials } from '../../../packages/resource-server/src/client.ts';
import type { GuardOptions } from '../../../packages/resource-server/src/guard.ts';
import {
  followRevocations,
  type RevocationsOptions,
} from '../../../packages/resource-server/src/revocations.ts';
import { newKey } from '../../authentication/trusted-issuers/identity-provider.ts';
import { startTenants, type Tenants } from '../../isolation/tenants-server.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { newEnrollment, newPem } from '../agent/live-agent.ts';
import { AUDIENCE, createApplication, manage, startResourceServer } from './live-service.ts';

const FEED = '/api/v1/events';

let tenants: Tenants;
let issuer: string;
/** The credentials of the resource server: a key that its application has, and one that it has not. */
let credentials: ClientCredentials;
let stranger: ClientCredentials;
let revoke: (token: string) => Promise<void>;
/** A token of the agent, and proofs by its key. */
type Session = { readonly token: string; readonly prove: (url: string) => Promise<string> };
let signIn: () => Promise<Session>;
const ending: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  tenants = await startTenants();
  const { owner } = tenants;
  issuer = owner.credentials.issuer_url;
  const [manager, own, other] = await Promise.all([newKey(), newKey('EdDSA', 'guard'), newKey('EdDSA')]);
  const { client_id } = owner.credentials;
  await manage(owner, 'PATCH', `/api/v1/applications/${client_id}`, { jwks: { keys: [manager.jwk] } });
  const application = { scopes: ['events:read'], jwks: { keys: [own.jwk] } };
  const { clientId } = await createApplication(owner, application);
  credentials = {
    clientId,
    privateKey: { ...(await exportJWK(own.privateKey)), kid: 'guard', alg: 'EdDSA' },
  };
  stranger = { clientId, privateKey: other.privateKey };
  const agent = await manage(owner, 'POST', '/api/v1/agents', {
    name: 'Robot',
    scopes: ['openid'],
    audience: AUDIENCE,
  });
  const key = newPem();
  await (await createAgent({ issuer, key })).enroll(await newEnrollment(owner, agent.id));
  signIn = async () => {
    const dpop = newPem('es256');
    const { accessToken: token } = await (await createAgent({ issuer, key, dpop })).getToken();
    const prover = createProver({ key: await describeSigner(await importSigner(dpop)), now: Date.now });
    return { token, prove: (url) => prover.prove('GET', url, token) };
  };
  await manage(owner, 'PATCH', '/api/v1/tenant', { security_profile: 'fapi2' });
  const server = { issuer, revocation_endpoint: `${issuer}/oauth/revoke` };
  const authentication = oauth.PrivateKeyJwt(manager.privateKey);
  revoke = async (token) => {
    const insecure = { [oauth.allowInsecureRequests]: true };
    const answer = await oauth.revocationRequest(server, { client_id }, authentication, token, insecure);
    await oauth.processRevocationResponse(answer);
  };
});
afterAll(() => tenants?.close());
afterEach(async () => {
  await Promise.all(ending.splice(0).map((end) => end()));
});

/** A resource server that follows the feed. @returns what it says to the agent */
async function start(follow: Partial<RevocationsOptions>, options: Partial<GuardOptions> = {}) {
  const revocations = followRevocations({ issuer, credentials, intervalMs: 50, ...follow });
  const server = await startResourceServer({
    issuer,
    audience: AUDIENCE,
    revocations,
    dpop: { required: true },
    onRefused: () => undefined,
    ...options,
  });
  ending.push(revocations.close, server.close);
  const outcome = async ({ token, prove }: Session): Promise<string> => {
    const url = `${server.url}/orders`;
    const headers = { authorization: `DPoP ${token}`, dpop: await prove(url) };
    const answer = await fetch(url, { headers });
    return answer.status === 200 ? 'accepted' : `${answer.status} ${(await answer.json()).error}`;
  };
  return { revocations, outcome };
}

type Said = { path: string; scheme: string | undefined; type: string | null; status: number };

/** `fetch` that notes what was sent and answered. @param mayStream whether it asks for streams as it is told */
function createNoting(mayStream = true) {
  const said: Said[] = [];
  const noting: typeof fetch = async (input, init) => {
    const request = new Request(input, init);
    if (!mayStream) request.headers.set('accept', 'application/json');
    const answer = await fetch(request);
    const path = new URL(request.url).pathname.slice(new URL(issuer).pathname.length);
    const scheme = request.headers.get('authorization')?.split(' ')[0];
    said.push({ path, scheme, type: answer.headers.get('content-type'), status: answer.status });
    return answer;
  };
  return { fetch: noting, at: (path: string) => said.filter((one) => one.path === path) };
}

describe('a guard that follows the feed by its key', () => {
  it.each<['a stream' | 'pages', RegExp]>([
    ['a stream', /^text\/event-stream/],
    ['pages', /^application\/json/],
  ])('refuses a revoked token, by %s', async (kind, type) => {
    const noting = createNoting(kind === 'a stream');
    const { revocations, outcome } = await start({ fetch: noting.fetch });
    await revocations.ready();
    await vi.waitUntil(() => noting.at(FEED).length > 1, PATIENCE);
    const [one, two] = [await signIn(), await signIn()];
    expect([await outcome(one), await outcome(two)]).toEqual(['accepted', 'accepted']);
    await revoke(one.token);
    await vi.waitUntil(async () => (await outcome(one)) === '401 token_revoked', PATIENCE);
    expect(await outcome(two)).toBe('accepted');
    expect(noting.at(FEED).at(-1)?.type).toMatch(type);
    expect(new Set(noting.at(FEED).map(({ scheme, status }) => `${scheme} ${status}`))).toEqual(
      new Set(['DPoP 200']),
    );
    // The nonce that the service demands is learned once, by the request for the token.
    expect(noting.at('/oauth/token').map(({ status }) => status)).toEqual([400, 200]);
    expect(revocations.status().failures).toBe(0);
  });

  it('refuses everything with a key that the application has not, and says why', async () => {
    const onError = vi.fn();
    const { outcome } = await start({ credentials: stranger, onError });
    await vi.waitUntil(() => onError.mock.calls.length > 0, PATIENCE);
    expect(String(onError.mock.calls[0]?.[0])).toMatch(
      /\/oauth\/token answered 401 invalid_client: The client assertion is not signed with a key of this client\.$/,
    );
    expect(await outcome(await signIn())).toBe('503 temporarily_unavailable');
  });
});

describe('a guard that introspects by its key', () => {
  const withoutFeed: typeof fetch = (input, init) =>
    String(input).includes(FEED) ? Promise.reject(new TypeError('away')) : fetch(input, init);
  const follow = { fetch: withoutFeed, onError: () => undefined };

  it('refuses a revoked token while the feed is away', async () => {
    const { outcome } = await start(follow, { introspection: { ...credentials, cacheSeconds: 0 } });
    const agent = await signIn();
    expect([await outcome(agent), await outcome(agent)]).toEqual(['accepted', 'accepted']);
    await revoke(agent.token);
    expect(await outcome(agent)).toBe('401 token_revoked');
  });

  it('refuses everything with a key that the application has not', async () => {
    const { outcome } = await start(follow, { introspection: stranger });
    expect(await outcome(await signIn())).toBe('503 temporarily_unavailable');
  });
});
