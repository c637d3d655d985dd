// The entry `@countersign/resource-server/testing`: an issuer in memory, so that the tests of a resource server need no
// service. It answers by `fetch`: keys, introspection, tokens by client credentials, and the event feed.
import {
  type CryptoKey,
  calculateJwkThumbprint,
  decodeJwt,
  exportJWK,
  generateKeyPair,
  type JWK,
  SignJWT,
} from 'jose';
import { sha256 } from './digest.ts';

export type TestIssuerOptions = {
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
  readonly tenantId?: string | undefined;
  /** Milliseconds since 1970. */
  readonly now?: (() => number) | undefined;
};

/** `header` replaces members of the token's header; with `key` the token is bound to this key. */
export type TestTokenOptions = {
  readonly header?: Readonly<Record<string, unknown>> | undefined;
  readonly key?: TestKey | undefined;
};

type StoredEvent = {
  readonly type: string;
  readonly occurred_at: string;
  readonly data: Record<string, unknown>;
};

const LIFETIME = 300;

export type TestIssuer = Awaited<ReturnType<typeof createTestIssuer>>;

export async function createTestIssuer(options: TestIssuerOptions = {}) {
  const {
    issuer = 'https://issuer.test',
    audience = 'https://api.test',
    tenantId = crypto.randomUUID(),
    now = Date.now,
  } = options;
  const events: StoredEvent[] = [];
  const ended = new Set<string>();
  const requests: string[] = [];
  const state = { reachable: true };
  const keys: JWK[] = [];
  let signing = await addKey();

  async function addKey(): Promise<{ kid: string; privateKey: CryptoKey }> {
    const { publicKey, privateKey } = await generateKeyPair('ES256');
    const kid = crypto.randomUUID();
    keys.unshift({ ...(await exportJWK(publicKey)), kid, alg: 'ES256', use: 'sig' });
    return { kid, privateKey };
  }

  /** Signs an access token of an agent. @param claims replace the usual ones; undefined removes one */
  async function createToken(
    claims: Readonly<Record<string, unknown>> = {},
    { header = {}, key }: TestTokenOptions = {},
  ): Promise<string> {
    const iat = Math.floor(now() / 1000);
    const payload = {
      iss: issuer,
      sub: crypto.randomUUID(),
      aud: audience,
      exp: iat + LIFETIME,
      iat,
      jti: timedId(now()),
      scope: 'openid',
      client_id: 'service-agent',
      subject_type: 'agent',
      agent: { name: 'Test agent', capabilities: [] },
      tenant_id: tenantId,
      ...(key === undefined ? {} : { cnf: { jkt: key.jkt } }),
      ...claims,
    };
    return new SignJWT(payload)
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: signing.kid, ...header })
      .sign(signing.privateKey);
  }

  /** Signs a delegated token: the agent acts for the user. */
  const createDelegatedToken = (
    { agentId, userId, ...claims }: { agentId: string; userId: string } & Readonly<Record<string, unknown>>,
    tokenOptions?: TestTokenOptions,
  ): Promise<string> =>
    createToken(
      {
        sub: userId,
        agent: undefined,
        act: { sub: agentId, agent: { name: 'Test agent', capabilities: [] } },
        delegation_id: crypto.randomUUID(),
        delegated_subject: { iss: 'https://login.test', sub: userId },
        derived_from: [],
        ...claims,
      },
      tokenOptions,
    );

  /** Adds an event to the feed, with the members of its `data`. */
  const emit = (type: string, data: Record<string, unknown>): void => {
    events.push({ type, occurred_at: new Date(now()).toISOString(), data });
  };

  async function answer(request: Request): Promise<Response> {
    const { pathname, searchParams } = new URL(request.url);
    const path = pathname.slice(new URL(issuer).pathname.replace(/\/$/, '').length);
    requests.push(path);
    if (!state.reachable) throw new TypeError('The test issuer is not reachable.');
    switch (path) {
      case '/.well-known/jwks.json':
        return Response.json({ keys });
      case '/oauth/token':
        return Response.json({
          access_token: await createToken(),
          token_type: 'Bearer',
          expires_in: LIFETIME,
        });
      case '/oauth/introspect':
        return Response.json(introspect(new URLSearchParams(await request.text()).get('token') ?? ''));
      case '/api/v1/events':
        return Response.json(readFeed(searchParams));
      default:
        return Response.json({ error: 'not_found' }, { status: 404 });
    }
  }

  function introspect(token: string): Record<string, unknown> {
    const claims = decodeJwt(token);
    const isActive =
      Number(claims.exp) > now() / 1000 && ![claims.jti, claims.sub].some((id) => ended.has(String(id)));
    return isActive ? { ...claims, active: true } : { active: false };
  }

  function readFeed(query: URLSearchParams): Record<string, unknown> {
    const types = (query.get('type') ?? '*').split(',');
    const after = Number(query.get('after') ?? 0);
    const data = events
      .slice(after)
      .filter((event) =>
        types.some((type) =>
          type.endsWith('*') ? event.type.startsWith(type.slice(0, -1)) : event.type === type,
        ),
      )
      .filter((event) => event.occurred_at >= (query.get('since') ?? ''));
    const read_at = new Date(now()).toISOString();
    return {
      data,
      next_cursor: String(events.length),
      has_more: false,
      read_at,
      complete_until: read_at,
    };
  }

  const fetch: typeof globalThis.fetch = (input, init) => answer(new Request(input, init));

  return {
    issuer,
    audience,
    tenantId,
    fetch,
    /** What `createGuard` needs. */
    guardOptions: { issuer, audience, tenantId, fetch, now, elapsed: now },
    /** What `followRevocations` needs. */
    revocationsOptions: {
      issuer,
      fetch,
      now,
      elapsed: now,
      credentials: { clientId: 'test', clientSecret: 'test' },
    },
    /** The paths that were requested. */
    requests,
    createToken,
    createDelegatedToken,
    createKey: (): Promise<TestKey> => createTestKey(now),
    emit,

    /** Signs with a new key from now on. @param options.keepsOld whether the old one stays in the JWKS */
    rotateKey: async ({ keepsOld = true }: { keepsOld?: boolean } = {}): Promise<void> => {
      const old = signing.kid;
      signing = await addKey();
      if (!keepsOld)
        keys.splice(
          keys.findIndex(({ kid }) => kid === old),
          1,
        );
    },

    /** Ends a token, at introspection and in the feed. */
    revokeToken: (token: string): void => {
      const { jti, sub, client_id, exp } = decodeJwt(token);
      ended.add(String(jti));
      const expires_at = new Date(Number(exp) * 1000).toISOString();
      emit('auth.token.revoked', { token_type: 'access_token', token_id: jti, sub, client_id, expires_at });
    },

    suspendAgent: (agentId: string): void => {
      ended.add(agentId);
      emit('admin.agent.suspended', { agent_id: agentId, status: 'suspended' });
    },

    reactivateAgent: (agentId: string): void => {
      ended.delete(agentId);
      emit('admin.agent.reactivated', { agent_id: agentId, status: 'active' });
    },

    /** While it is false, each request fails as when there is no network. */
    setReachable: (reachable: boolean): void => {
      state.reachable = reachable;
    },
  };
}

/** A UUIDv7: the service's tokens have one as `jti`, from which the time of issue is read. */
function timedId(milliseconds: number): string {
  const time = Math.floor(milliseconds).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${crypto.randomUUID().slice(15)}`;
}

/** The request that a proof is for. `claims` and `header` replace members; undefined removes one. */
export type TestProof = {
  readonly method?: string | undefined;
  readonly url: string;
  readonly token: string;
  readonly claims?: Readonly<Record<string, unknown>> | undefined;
  readonly header?: Readonly<Record<string, unknown>> | undefined;
};

export type TestKey = {
  /** Thumbprint of the key: `cnf.jkt` of the tokens that are bound to it. */
  readonly jkt: string;
  readonly createProof: (proof: TestProof) => Promise<string>;
};

/** @param now milliseconds since 1970 */
async function createTestKey(now: () => number = Date.now): Promise<TestKey> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true });
  const jwk = await exportJWK(publicKey);
  return {
    jkt: await calculateJwkThumbprint(jwk),
    createProof: async ({ method = 'GET', url, token, claims = {}, header = {} }) => {
      const payload = {
        jti: crypto.randomUUID(),
        htm: method,
        htu: url,
        iat: Math.floor(now() / 1000),
        ath: await sha256(token),
        ...claims,
      };
      return new SignJWT(payload)
        .setProtectedHeader({ alg: 'ES256', typ: 'dpop+jwt', jwk, ...header })
        .sign(privateKey);
    },
  };
}
