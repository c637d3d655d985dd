// What a client sees: challenges, problem bodies and metadata, the same by Koa, by Node's server and by fetch.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import Koa from 'koa';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Rules } from '../../../packages/resource-server/src/checks.ts';
import * as express from '../../../packages/resource-server/src/express.ts';
import * as fetching from '../../../packages/resource-server/src/fetch.ts';
import { createGuard, type Guard, type GuardOptions } from '../../../packages/resource-server/src/guard.ts';
import * as koa from '../../../packages/resource-server/src/koa.ts';
import { fromNodeRequest } from '../../../packages/resource-server/src/node-request.ts';
import { createProofNonces } from '../../../packages/resource-server/src/proof-nonces.ts';
import { createTestIssuer, type TestIssuer } from '../../../packages/resource-server/src/testing.ts';

const RESOURCE = 'https://api.test/mcp';
const METADATA = 'resource_metadata="https://api.test/.well-known/oauth-protected-resource/mcp"';

type Ask = (path: string, headers?: Record<string, string>) => Promise<Response>;

let issuer: TestIssuer;
let servers: Server[] = [];
beforeEach(async () => {
  issuer = await createTestIssuer({ audience: RESOURCE });
});
afterEach(async () => {
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  servers = [];
});

const listen = async (server: Server): Promise<Ask> => {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return (path, headers = {}) => fetch(origin + path, { headers: { connection: 'close', ...headers } });
};

/** A server that answers with the agent of the request, by each adapter. */
const ADAPTERS: Readonly<Record<string, (guard: Guard, rules: Rules) => Promise<Ask>>> = {
  koa: async (guard, rules) => {
    const app = new Koa();
    app.use(koa.serveMetadata(guard));
    app.use(koa.requireAgent(guard, rules));
    app.use((ctx) => {
      ctx.body = koa.agentOf(ctx);
    });
    return listen(createServer(app.callback()));
  },
  express: async (guard, rules) => {
    const [metadata, require] = [express.serveMetadata(guard), express.requireAgent(guard, rules)];
    return listen(
      createServer((request, response) =>
        metadata(request, response, () => {
          void require(request, response, () => response.end(JSON.stringify(express.agentOf(request))));
        }),
      ),
    );
  },
  fetch: async (guard, rules) => {
    const handler = fetching.requireAgent(guard, rules, (_request, agent) => Response.json(agent));
    return async (path, headers = {}) => {
      const request = new Request(`http://inside${path}`, { headers });
      return fetching.serveMetadata(guard, request) ?? handler(request);
    };
  },
};

describe.each(Object.keys(ADAPTERS))('by %s', (name) => {
  const start = async (rules: Rules = {}, options: Partial<GuardOptions> = {}) => {
    const guard = createGuard({ ...issuer.guardOptions, ...options });
    const ask = await ADAPTERS[name]?.(guard, rules);
    if (ask === undefined) throw new Error(`there is no adapter ${name}`);
    return ask;
  };
  const read = async (answer: Response) => ({
    status: answer.status,
    challenge: answer.headers.get('www-authenticate'),
    body: await answer.json(),
  });
  const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

  it('a good token passes, with its agent', async () => {
    const ask = await start({ scope: 'openid' });
    const answer = await ask('/orders', bearer(await issuer.createToken({ sub: 'a' })));
    expect(await read(answer)).toMatchObject({ status: 200, challenge: null, body: { actor: 'a' } });
  });

  it('a request without a token is told where to get one, and with which scope', async () => {
    const { status, challenge, body } = await read(
      await (await start({ scope: ['openid', 'vault:read'] }))('/'),
    );
    expect(status).toBe(401);
    expect(challenge).toBe(
      `Bearer ${METADATA}, scope="openid vault:read", DPoP algs="ES256 Ed25519 EdDSA PS256", ${METADATA}, scope="openid vault:read"`,
    );
    expect(body).toEqual({
      type: 'about:blank',
      title: 'Unauthorized',
      status: 401,
      detail: 'An access token is required in the Authorization header.',
      error: 'invalid_token',
      error_description: 'An access token is required in the Authorization header.',
    });
  });

  it('a refusal has the challenge of its kind, and a problem body', async () => {
    const ask = await start({ scope: 'vault:read' });
    const lacking = await ask('/', bearer(await issuer.createToken()));
    expect(lacking.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await read(lacking)).toMatchObject({
      status: 403,
      challenge: `Bearer ${METADATA}, error="insufficient_scope", error_description="The access token lacks the scope vault:read.", scope="vault:read"`,
      body: { error: 'insufficient_scope', title: 'Forbidden' },
    });
    const unable = await start({ scope: 'openid', capability: 'orders:read' });
    const incapable = await read(await unable('/', bearer(await issuer.createToken())));
    // Another scope would not help.
    expect(incapable.challenge).not.toContain('scope="openid"');
    const expired = await read(await ask('/', bearer(await issuer.createToken({ exp: 1 }))));
    expect(expired).toMatchObject({ status: 401, body: { error: 'token_expired' } });
    expect(expired.challenge).toContain('error="invalid_token"');
    issuer.setReachable(false);
    const elsewhere = `${issuer.issuer}/elsewhere`;
    const away = await start({}, { jwksUri: elsewhere, onRefused: () => undefined });
    const answer = await away('/', bearer(await issuer.createToken()));
    expect(answer.headers.get('retry-after')).toBe('1');
    expect(await read(answer)).toMatchObject({ status: 503, challenge: null });
  });

  it('a bound token passes with a proof for the address that clients use, and gets the next nonce', async () => {
    const nonces = createProofNonces(new Uint8Array(32).fill(7));
    const ask = await start({}, { dpop: { nonces, required: true } });
    const key = await issuer.createKey();
    const token = await issuer.createToken({}, { key });
    const send = async (nonce?: string) => {
      const proof = await key.createProof({ url: 'https://api.test/orders', token, claims: { nonce } });
      return ask('/orders?page=2', { authorization: `DPoP ${token}`, dpop: proof });
    };
    const first = await send();
    const nonce = first.headers.get('dpop-nonce') ?? '';
    expect(await read(first)).toMatchObject({ status: 401, body: { error: 'use_dpop_nonce' } });
    expect(first.headers.get('www-authenticate')).toMatch(/^DPoP .*error="use_dpop_nonce"/);
    const second = await send(nonce);
    expect(second.status).toBe(200);
    expect(second.headers.get('dpop-nonce')).toMatch(/^[\w-]{43}$/);
    const plain = await read(await ask('/', bearer(await issuer.createToken())));
    expect([plain.status, plain.challenge?.startsWith('DPoP ')]).toEqual([401, true]);
  });

  it('the metadata is served where RFC 9728 puts it, for pages of other origins too', async () => {
    const ask = await start({}, { metadata: { scopes_supported: ['openid'], resource_name: 'Orders' } });
    const answer = await ask('/.well-known/oauth-protected-resource/mcp');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('content-type')).toMatch(/^application\/json/);
    expect((await read(answer)).body).toEqual({
      resource: RESOURCE,
      authorization_servers: [issuer.issuer],
      bearer_methods_supported: ['header'],
      dpop_signing_alg_values_supported: ['ES256', 'Ed25519', 'EdDSA', 'PS256'],
      scopes_supported: ['openid'],
      resource_name: 'Orders',
    });
  });
});

describe('the log of a guard', () => {
  const ask = (guard: Guard, token: string) =>
    guard.authorize({
      method: 'GET',
      target: '/',
      header: (name) => (name === 'authorization' ? [`Bearer ${token}`] : []),
    });

  it('has what was away, now and then, and no refusal of a token', async () => {
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => undefined);
    const guard = createGuard(issuer.guardOptions);
    await ask(guard, await issuer.createToken({ aud: 'https://elsewhere.test' }));
    expect(warn).not.toHaveBeenCalled();
    const stranded = createGuard({ ...issuer.guardOptions, jwksUri: 'https://issuer.test/nowhere' });
    for (let n = 0; n < 3; n += 1) await ask(stranded, await issuer.createToken());
    expect(warn).toHaveBeenCalledTimes(1);
    expect(warn).toHaveBeenCalledWith(expect.stringContaining('keys of the issuer'), expect.any(Error));
    warn.mockRestore();
  });

  it('is the program’s where it gives one', async () => {
    const onRefused = vi.fn();
    const guard = createGuard({ ...issuer.guardOptions, onRefused });
    await ask(guard, await issuer.createToken({ aud: 'https://elsewhere.test' }));
    expect(onRefused).toHaveBeenCalledWith(
      expect.objectContaining({
        code: 'invalid_token',
        detail: `The access token is not meant for ${RESOURCE}.`,
      }),
    );
  });
});

describe('Node’s server', () => {
  it('does not hide a repeated header', () => {
    const rawHeaders = ['Host', 'api', 'Authorization', 'Bearer a', 'AUTHORIZATION', 'Bearer b'];
    const { header } = fromNodeRequest({ method: 'GET', url: '/', rawHeaders });
    expect(header('authorization')).toEqual(['Bearer a', 'Bearer b']);
  });

  it('tells of a route that no guard protects', () => {
    expect(() => express.agentOf({})).toThrow(/requireAgent/);
  });
});
