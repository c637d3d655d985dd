// Starts the shell on a real socket with a given route table. Tenants and tokens are fakes; everything between is real.

import pino, { type Logger } from 'pino';
import { authorize } from '../../../src/authentication/tokens/bearer.routes.ts';
import type { Principal, Tenant } from '../../../src/platform/context.ts';
import { ServiceError } from '../../../src/platform/errors/service-error.ts';
import { type AppConfig, type AppDependencies, createApp } from '../../../src/platform/http/app.ts';
import { createHealth } from '../../../src/platform/http/health.ts';
import type { Route } from '../../../src/platform/http/route.ts';
import { createHttpServer, type ServerLimits } from '../../../src/platform/http/server.ts';
import { NO_LIMITS } from './counts.ts';

export const ERROR_TYPE_BASE = 'https://errors.example';

export const TEST_CONFIG: AppConfig = {
  nodeEnv: 'test',
  publicUrl: 'http://localhost:8080',
  defaultTenant: 'demo',
  tenantUrl: 'http://localhost:8080/t/{tenant}',
  errorTypeBase: ERROR_TYPE_BASE,
  trustedProxies: [],
};

export const tenantNamed = (slug: string): Tenant => ({
  id: `00000000-0000-7000-8000-0000000000${slug === 'demo' ? '01' : '02'}`,
  slug,
  name: slug,
  audience: `https://${slug}.example`,
  signingAlgorithm: 'ES256',
  baseUrl: `https://${slug}.example`,
  issuerUrl: `https://${slug}.example`,
});

/** Tokens are the fake's own: `scopes:agents:read,agents:write`, or an error code. */
export async function authenticateTestToken(tenant: Tenant, token: string): Promise<Principal> {
  const text = Buffer.from(token, 'base64url').toString();
  if (text.startsWith('error:'))
    throw new ServiceError(text.slice(6) as 'invalid_token', { detail: 'The token is no good.' });
  if (text.startsWith('crash:')) throw new Error('secret detail of the inside');
  const [subject = '', scopes = ''] = text.split('|');
  return {
    kind: 'application',
    subject: `${tenant.slug}-${subject}`,
    clientId: subject,
    tokenId: 'token',
    scopes: scopes.split(','),
  };
}

/** Tokens as the fake's, after a check of the test's own. */
export const tokensAfter = (check: () => void): Pick<AppDependencies, 'authorize'> => ({
  authorize: (route) =>
    authorize(route, async (tenant, token) => {
      check();
      return authenticateTestToken(tenant, token);
    }),
});

/** A token of the fake: who presents it, and what it may do. */
export const tokenFor = (subject: string, ...scopes: string[]): string =>
  Buffer.from(`${subject}|${scopes.join(',')}`).toString('base64url');
export const badToken = (text: string): string => Buffer.from(text).toString('base64url');

export type TestServer = Awaited<ReturnType<typeof startTestServer>>;

export async function startTestServer(
  routes: readonly Route[],
  {
    config = {},
    limits = {},
    logger = pino({ level: 'silent' }),
    ...dependencies
  }: {
    config?: Partial<AppConfig>;
    limits?: Partial<ServerLimits>;
    logger?: Logger;
  } & Partial<
    Pick<
      AppDependencies,
      | 'authorize'
      | 'database'
      | 'health'
      | 'tenants'
      | 'rateLimits'
      | 'pages'
      | 'answerRoom'
      | 'bodyRoom'
      | 'turns'
    >
  > = {},
) {
  const app = createApp({
    routes,
    tenants: {
      bySlug: async (slug) => (slug === 'demo' || slug === 'acme' ? tenantNamed(slug) : undefined),
    },
    authorize: (route) => authorize(route, authenticateTestToken),
    database: {
      transaction: () => Promise.reject(new Error('This test has no database.')),
    },
    health: createHealth({
      ping: async () => undefined,
      pendingMigrations: async () => [],
      probeTemporal: async () => true,
    }),
    rateLimits: NO_LIMITS,
    config: { ...TEST_CONFIG, ...config },
    logger,
    ...dependencies,
  });
  const http = createHttpServer(app, { errorTypeBase: ERROR_TYPE_BASE, limits });
  const { port } = await http.listen({ port: 0, host: '127.0.0.1' });
  const origin = `http://127.0.0.1:${port}`;
  return {
    ...http,
    port,
    origin,
    fetch: (path: string, init?: RequestInit) => fetch(origin + path, init),
    /** Sends JSON and gives the answer with its parsed body. */
    send: async (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) => {
      const response = await fetch(origin + path, {
        method,
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
        ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        text,
        body: text === '' ? undefined : JSON.parse(text),
      };
    },
  };
}
