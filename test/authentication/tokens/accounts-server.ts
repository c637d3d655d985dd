// The accounts' routes served by the real HTTP shell on a free port, with addresses that really lead there.

import pino from 'pino';
import { afterAll } from 'vitest';
import { createIssuerRoutes } from '../../../src/authentication/issuer/issuer.routes.ts';
import { authorize } from '../../../src/authentication/tokens/bearer.routes.ts';
import { createIntrospectionRoutes } from '../../../src/authentication/tokens/introspection.routes.ts';
import { createTokenRoutes } from '../../../src/authentication/tokens/token.routes.ts';
import { createUserinfoRoutes } from '../../../src/authentication/tokens/userinfo.routes.ts';
import { UserinfoService } from '../../../src/authentication/tokens/userinfo.service.ts';
import { createApplicationRoutes } from '../../../src/identity/applications/application.routes.ts';
import { createTenantRoutes } from '../../../src/identity/tenants/tenant.routes.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { createApp } from '../../../src/platform/http/app.ts';
import { createHealth } from '../../../src/platform/http/health.ts';
import { createHttpServer } from '../../../src/platform/http/server.ts';
import { NO_LIMITS } from '../../platform/http/counts.ts';
import { useTestDatabase } from '../../setup/database.ts';
import { takePort } from '../../setup/ports.ts';
import { createExchangeRooms } from '../token-exchange/exchange-rooms.ts';
import { createAccounts } from './accounts.ts';

const ERROR_TYPE_BASE = 'https://errors.example';

/** Starts it. The tenant `demo` lives at the root, all others at `/t/<slug>`. */
export async function startAccountsServer(
  database: Database,
  options: {
    now?: () => number;
    clientFailures?: number;
  } = {},
) {
  const port = await takePort();
  const origin = `http://localhost:${port}`;
  const addresses = { publicUrl: origin, defaultTenant: 'demo', tenantUrl: `${origin}/t/{tenant}` };
  const accounts = createAccounts(database, { ...options, addresses });
  const rooms = createExchangeRooms(database, { accounts });
  const app = createApp({
    routes: [
      ...createTokenRoutes(rooms),
      ...createIntrospectionRoutes(rooms),
      ...createIssuerRoutes(accounts),
      ...createTenantRoutes(accounts),
      ...createApplicationRoutes(accounts),
      ...createUserinfoRoutes({ userinfo: new UserinfoService(rooms) }),
      ...rooms.routes,
    ],
    tenants: accounts.tenants,
    authorize: (route) => authorize(route, accounts.tokens.authenticate, accounts.dpop, accounts.accesses),
    database,
    health: createHealth({
      ping: async () => undefined,
      pendingMigrations: async () => [],
      probeTemporal: async () => true,
    }),
    rateLimits: NO_LIMITS,
    config: {
      nodeEnv: 'test',
      ...addresses,
      errorTypeBase: ERROR_TYPE_BASE,
      trustedProxies: [],
    },
    logger: pino({ level: 'silent' }),
  });
  const http = createHttpServer(app, { errorTypeBase: ERROR_TYPE_BASE });
  await http.listen({ port, host: 'localhost' });
  return {
    accounts,
    /** Agents, keys, challenges, delegations and trusted issuers over the same accounts. */
    rooms,
    origin,
    /** Posts a form to a token endpoint. @param issuerUrl the tenant's */
    requestToken: (issuerUrl: string, form: string, headers: Record<string, string> = {}) =>
      fetch(`${issuerUrl}/oauth/token`, {
        method: 'POST',
        headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        body: form,
      }),
    /** Sends JSON with a bearer token. @returns status, headers and parsed body */
    send: async (method: string, url: string, token: string | undefined, body?: unknown) => {
      const response = await fetch(url, {
        method,
        headers: {
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await response.text();
      return {
        status: response.status,
        headers: response.headers,
        body: text === '' ? undefined : JSON.parse(text),
      };
    },
    close: async () => {
      await http.drain(0);
      await accounts.accesses.close();
      await rooms.closeExchange();
    },
  };
}

export type AccountsServer = Awaited<ReturnType<typeof startAccountsServer>>;

/** A database and its server for all cases of a file. */
export async function useAccountsServer() {
  const test = await useTestDatabase();
  const server = await startAccountsServer(test.database);
  afterAll(() => server.close());
  return { test, server };
}
