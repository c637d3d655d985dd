// What ends at the service ends at a guard: each use case that ends access tokens is done, and then introspection says
// that the token is not active, and a guard that has nothing but the feed refuses it. The sources are read for others.
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, afterEach, describe, expect, it, vi } from 'vitest';
import {
  followRevocations,
  type Revocations,
  type RevocationsOptions,
} from '../../../packages/resource-server/src/revocations.ts';
import { newKey } from '../../authentication/trusted-issuers/identity-provider.ts';
import { type Party, startTenants } from '../../isolation/tenants-server.ts';
import { PATIENCE } from '../../setup/patience.ts';
import { AUDIENCE, createApplication, enrollAgent, manage, startResourceServer } from './live-service.ts';

const TYPE = 'urn:ietf:params:oauth:token-type';
const EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
const WORKLOAD = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const KEYS = '/api/v1/tenant/issuer-keys';
const AGENT_UPDATE = 'identity/agents/agent.service.ts update';
const APPLICATION = 'identity/applications/application.service.ts record';
const WORKLOADS = 'authentication/workload-issuers/workload-issuer.service.ts record';

type Guarded = {
  readonly party: Party;
  readonly server: Awaited<ReturnType<typeof startResourceServer>>;
  readonly revocations: Revocations;
};

const guarded: Guarded[] = [];
const tenants = await startTenants();
const { owner } = tenants;
const provider = await newKey('ES256', 'key');
await guard(owner);
afterAll(async () => {
  await Promise.all(guarded.flatMap(({ server, revocations }) => [server.close(), revocations.close()]));
  await tenants.close();
});

/** A resource server that has the feed of a tenant, and nothing else to ask. */
async function guard(party: Party, whileStale?: RevocationsOptions['whileStale']): Promise<Guarded> {
  const { issuer_url: issuer, base_url: baseUrl } = party.credentials;
  const credentials = await createApplication(party, { scopes: ['webhooks:read'] });
  const onError = () => undefined;
  const revocations = followRevocations({ issuer, credentials, intervalMs: 50, whileStale, onError });
  await revocations.ready();
  const server = await startResourceServer(
    { issuer, audience: [AUDIENCE, baseUrl], revocations, onRefused: () => undefined },
    { '/as-user': { delegated: 'accept' } },
  );
  const made = { party, server, revocations };
  guarded.push(made);
  return made;
}

const tokenOf = async (form: Record<string, string>, authorization?: string): Promise<string> => {
  const { body, text } = await owner.post('/oauth/token', form, authorization);
  if (typeof body.access_token !== 'string') throw new Error(text);
  return body.access_token;
};
const basicOf = ({ clientId, clientSecret }: { clientId: string; clientSecret: string }) =>
  `Basic ${btoa(`${clientId}:${clientSecret}`)}`;

/** Whether the token is active by introspection, and what the guard says; it is asked until it has refused. */
async function fateOf(token: string, path?: string, { party, server } = first()) {
  const { body } = await party.post('/oauth/introspect', { token });
  const refused = async () => {
    const outcome = await server.outcome(token, path);
    return outcome === 'accepted' || outcome.startsWith('503') ? undefined : outcome;
  };
  return { active: body.active, guard: await vi.waitUntil(refused, PATIENCE) };
}

function first() {
  const [one] = guarded;
  if (one === undefined) throw new Error('There is no guard.');
  return one;
}

/** Gets a token that the guard accepts, and what ends it. */
type Prepared = { readonly token: string; readonly path?: string; readonly end: () => Promise<unknown> };

const ofAgent = (end: (agent: Awaited<ReturnType<typeof enrollAgent>>) => Promise<unknown>) => async () => {
  const agent = await enrollAgent(owner, { audiences: ['https://other.example'] });
  return { token: await agent.authenticate(), end: () => end(agent) };
};
const patchAgent = (body: object) =>
  ofAgent(({ id }) => manage(owner, 'PATCH', `/api/v1/agents/${id}`, body));

const refresh = (refresh_token: string) =>
  owner.post('/oauth/token', { grant_type: 'refresh_token', refresh_token }, '');

const ofRefreshToken = (end: (token: string) => Promise<unknown>) => async (): Promise<Prepared> => {
  const tokens = await (await enrollAgent(owner)).signIn();
  return { token: tokens.access_token, end: () => end(tokens.refresh_token) };
};

const ofApplication = (end: (path: string, secretId: string) => Promise<unknown>) => async () => {
  const application = await createApplication(owner, { scopes: ['openid', 'email'], audience: AUDIENCE });
  const path = `/api/v1/applications/${application.clientId}`;
  const { secrets } = await manage(owner, 'GET', path);
  const token = await tokenOf({ grant_type: 'client_credentials' }, basicOf(application));
  return { token, end: () => end(path, secrets[0].id) };
};

const patchApplication = (body: object) => ofApplication((path) => manage(owner, 'PATCH', path, body));

const ofWorkload = (end: (path: string) => Promise<unknown>) => async (): Promise<Prepared> => {
  const { id } = await enrollAgent(owner);
  const issuer = `https://ci-${id}.example`;
  const [audience, sub, jti] = ['https://id.example', 'job', id];
  const made = await manage(owner, 'POST', '/api/v1/workload-issuers', {
    issuer,
    jwks: { keys: [provider.jwk] },
    audiences: [audience, 'https://second.example'],
    rules: [{ agent_id: id, claims: { sub } }],
  });
  const assertion = await provider.sign({ iss: issuer, sub, aud: audience, jti });
  const token = await tokenOf({ grant_type: WORKLOAD, assertion }, '');
  return { token, end: () => end(`/api/v1/workload-issuers/${made.id}`) };
};

type Delegated = { readonly id: string; readonly subject: { readonly issuer: string; readonly sub: string } };

const delegated = (end: (made: Delegated) => Promise<unknown>) => async (): Promise<Prepared> => {
  const agent = await enrollAgent(owner);
  const [login, scopes] = [`https://login-${agent.id}.example`, ['openid']];
  await manage(owner, 'POST', '/api/v1/trusted-issuers', {
    issuer: login,
    jwks: { keys: [provider.jwk] },
    audiences: [owner.credentials.base_url],
  });
  const gateway = await createApplication(owner, { scopes, grant_types: [EXCHANGE] });
  const subject = { issuer: login, sub: 'ada' };
  const { id } = await manage(owner, 'POST', '/api/v1/delegations', {
    subject,
    agent_id: agent.id,
    scopes,
    audience: AUDIENCE,
    expires_at: new Date(Date.now() + 3_600_000).toISOString(),
  });
  const token = await tokenOf(
    {
      grant_type: EXCHANGE,
      subject_token: await provider.sign({ iss: login, sub: 'ada', aud: owner.credentials.base_url }),
      subject_token_type: `${TYPE}:id_token`,
      actor_token: await agent.authenticate(),
      actor_token_type: `${TYPE}:access_token`,
    },
    basicOf(gateway),
  );
  return { token, path: '/as-user', end: () => end({ id, subject }) };
};

async function ofConsole(): Promise<Prepared> {
  const { client_id, client_secret } = owner.credentials;
  const signedIn = await owner.send('POST', '/console/session', { client_id, client_secret }, null);
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const send = (method: string, path: string) => owner.send(method, path, undefined, null, { cookie });
  const { body } = await send('POST', '/console/token');
  return { token: body.access_token, end: () => send('DELETE', '/console/session') };
}

/** What is done, the place in `src` that ends tokens by it, and a token that ends. */
const ENDS: readonly (readonly [string, string, () => Promise<Prepared>])[] = [
  [
    'a token is revoked',
    'authentication/tokens/introspection.service.ts revokeAccessToken',
    async () => {
      const token = await (await enrollAgent(owner)).authenticate();
      return { token, end: () => owner.post('/oauth/revoke', { token }) };
    },
  ],
  [
    'a refresh token is revoked',
    'authentication/tokens/introspection.service.ts revokeRefreshToken',
    ofRefreshToken((token) => owner.post('/oauth/revoke', { token })),
  ],
  [
    'a spent refresh token is presented again',
    'authentication/tokens/refresh.service.ts endFamily',
    ofRefreshToken(async (token) => {
      await refresh((await refresh(token)).body.refresh_token);
      expect((await refresh(token)).body.error).toBe('invalid_grant');
    }),
  ],
  ['a session of the console ends', 'authentication/console/session.service.ts signOut', ofConsole],
  [
    'an agent is suspended',
    'identity/agents/agent.service.ts setStatus',
    ofAgent(({ id }) => manage(owner, 'PATCH', `/api/v1/agents/${id}/suspend`, {})),
  ],
  [
    'an agent is deleted',
    'identity/agents/agent.service.ts remove',
    ofAgent(({ id }) => manage(owner, 'DELETE', `/api/v1/agents/${id}`)),
  ],
  ['an agent loses a scope', AGENT_UPDATE, patchAgent({ scopes: ['openid'] })],
  ['an agent gets another audience', AGENT_UPDATE, patchAgent({ audience: 'https://else.example' })],
  ['an agent loses one of its audiences', AGENT_UPDATE, patchAgent({ audiences: [] })],
  ['an agent has to prove its key', AGENT_UPDATE, patchAgent({ dpop_bound_access_tokens: true })],
  [
    'a key is revoked',
    'identity/keys/key.service.ts revoke',
    ofAgent(({ id, keyId }) => manage(owner, 'POST', `/api/v1/agents/${id}/keys/${keyId}/revoke`, {})),
  ],
  [
    'a delegation is revoked',
    'authentication/delegations/delegation.service.ts revoke',
    delegated(({ id }) => manage(owner, 'POST', `/api/v1/delegations/${id}/revoke`, {})),
  ],
  [
    'a user is forgotten',
    'authentication/users/user-forgetting.service.ts forget',
    delegated(({ subject }) => manage(owner, 'POST', '/api/v1/users/forget', { subject })),
  ],
  ['an application loses a scope', APPLICATION, patchApplication({ scopes: ['openid'] })],
  ['an application gets another audience', APPLICATION, patchApplication({ audience: 'https://x.example' })],
  ['an application has to prove its key', APPLICATION, patchApplication({ dpop_bound_access_tokens: true })],
  ['an application is deleted', APPLICATION, ofApplication((path) => manage(owner, 'DELETE', path))],
  [
    'a secret is removed',
    APPLICATION,
    ofApplication((path, secret) => manage(owner, 'DELETE', `${path}/secrets/${secret}`)),
  ],
  [
    'a workload issuer loses an audience',
    WORKLOADS,
    ofWorkload((path) => manage(owner, 'PATCH', path, { audiences: ['https://id.example'] })),
  ],
  ['a workload issuer is removed', WORKLOADS, ofWorkload((path) => manage(owner, 'DELETE', path))],
];

describe('a token that a guard has accepted', () => {
  it.each(ENDS)('ends at the service and there when %s', async (_title, _place, prepare) => {
    const { token, path, end } = await prepare();
    expect(await first().server.outcome(token, path)).toBe('accepted');
    await end();
    expect(await fateOf(token, path)).toEqual({ active: false, guard: '401 token_revoked' });
  });

  it('is followed by one that is accepted, unless its holder is gone', async () => {
    const agent = await enrollAgent(owner);
    const before = await agent.authenticate();
    await manage(owner, 'PATCH', `/api/v1/agents/${agent.id}`, { scopes: ['openid'] });
    await fateOf(before);
    expect(await first().server.outcome(await agent.authenticate('openid'))).toBe('accepted');
  });
});

/** The clock of the process, and of this file, is so many milliseconds ahead; its monotonic clock stays as it is. */
function setClockAhead(milliseconds: number): void {
  vi.useRealTimers();
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + milliseconds, shouldAdvanceTime: true });
}

describe('a token of a process whose clock is ahead', () => {
  afterEach(() => void vi.useRealTimers());

  it.each(ENDS)(
    'ends at the service and at a guard, by a process whose clock is behind, when %s',
    async (_title, _place, prepare) => {
      setClockAhead(5_000);
      const { token, path, end } = await prepare();
      setClockAhead(-5_000);
      await end();
      vi.useRealTimers();
      expect(await fateOf(token, path)).toEqual({ active: false, guard: '401 token_revoked' });
    },
  );

  it('stays ended when its agent is suspended and reactivated', async () => {
    const agent = await enrollAgent(owner);
    setClockAhead(5_000);
    const token = await agent.authenticate();
    setClockAhead(-5_000);
    await manage(owner, 'PATCH', `/api/v1/agents/${agent.id}/suspend`, {});
    await manage(owner, 'PATCH', `/api/v1/agents/${agent.id}/reactivate`, {});
    vi.useRealTimers();
    const next = await agent.authenticate();
    await vi.waitUntil(async () => (await first().server.outcome(next)) === 'accepted', PATIENCE);
    expect(await fateOf(token)).toEqual({ active: false, guard: '401 token_revoked' });
  });

  it('is refused by a guard that starts later, when another process wrote an event by a clock hours behind', async () => {
    const [one, other] = [await enrollAgent(owner), await enrollAgent(owner)];
    const token = await one.authenticate();
    await owner.post('/oauth/revoke', { token });
    setClockAhead(-7_200_000);
    await manage(owner, 'PATCH', `/api/v1/agents/${other.id}`, { scopes: ['openid'] });
    vi.useRealTimers();
    const { server } = await guard(owner);
    expect(await server.outcome(token)).toBe('401 token_revoked');
  });
});

describe('all that a tenant has', () => {
  it('is refused while it is suspended, and its earlier tokens for ever', async () => {
    const { stranger: party, suspensions } = tenants;
    // Failing open is for a feed that cannot be reached, not for one that is refused.
    const { server } = await guard(party, { acceptForSeconds: 3_600 });
    const agent = await enrollAgent(party);
    const token = await agent.authenticate();
    expect(await server.outcome(token)).toBe('accepted');
    const intent = { operator: 'jo', reason: 'abuse' };
    await suspensions.suspend(intent, party.credentials.slug);
    const refused = await vi.waitUntil(async () => {
      const outcome = await server.outcome(token);
      return outcome === 'accepted' ? undefined : outcome;
    }, PATIENCE);
    // An open stream may bring the end of the tokens before the service refuses the feed.
    expect(['503 temporarily_unavailable', '401 token_revoked']).toContain(refused);
    const { body } = await party.post('/oauth/introspect', { token });
    expect(body.active).not.toBe(true);
    await suspensions.resume(intent, party.credentials.slug);
    const again = () => agent.authenticate().catch(() => undefined);
    const next = await vi.waitUntil(again, PATIENCE);
    await vi.waitUntil(async () => (await server.outcome(next)) === 'accepted', PATIENCE);
    expect(await server.outcome(token)).toBe('401 token_revoked');
  });

  it('that a revoked issuer key has signed is refused', async () => {
    const { data } = await manage(owner, 'GET', KEYS);
    const token = await (await enrollAgent(owner)).authenticate();
    const { kid } = data.find(({ state }: { state: string }) => state === 'active');
    await manage(owner, 'POST', `${KEYS}/${kid}/revoke`, { reason: 'lost' });
    const guard = expect.stringMatching(/^401 (token_revoked|invalid_token)$/);
    expect(await fateOf(token)).toEqual({ active: false, guard });
  });
});

describe('every place in the sources that ends tokens', () => {
  it('is one of those that were done above', () => {
    const others = [
      'authentication/issuer/issuer-key.service.ts revokeKey',
      'operations/operators/suspension.service.ts change',
    ];
    const done = ENDS.map(([, place]) => place);
    expect([...new Set(findEnds())].sort()).toEqual([...new Set([...done, ...others])].sort());
  });
});

/** The functions that end tokens, and the two files that are made of them. */
const ENDING =
  /\b(endTokens|endPrincipal|endTenant|admitPrincipal|revokeTokensOf\w+|admitTokensOf\w+|endAccessTokensOf)\b/;
const THEMSELVES = ['authentication/tokens/revocation.service.ts', 'authentication/tokens/token.service.ts'];

/** The functions of the sources that name one of them: file and function. */
function findEnds(): string[] {
  const files = readdirSync('src', { recursive: true, encoding: 'utf8' }).map((file) =>
    file.replaceAll('\\', '/'),
  );
  return files
    .filter((file) => file.endsWith('.ts') && !THEMSELVES.includes(file))
    .flatMap((file) => {
      let name = '';
      return readFileSync(`src/${file}`, 'utf8')
        .split('\n')
        .flatMap((line) => {
          name = /^(?:(?:export )?(?:async )?function | {2}#?)(\w+)(?=[(<]| = )/.exec(line)?.[1] ?? name;
          const isUse = ENDING.test(line) && !/^\s*(\*|\/|\w+\??: Pick<)/.test(line);
          return isUse ? [`${file} ${name}`] : [];
        });
    });
}
