// The whole service on a free port, wired as the api process wires it, with two tenants whose applications hold every
// scope.

import { wireApi } from '../../src/app/wiring/api.ts';
import { wireManagement } from '../../src/app/wiring/commands.ts';
import type { Provisioned } from '../../src/identity/tenants/provision.service.ts';
import { loadConfig } from '../../src/platform/config.ts';
import type { Database, DatabaseLimits } from '../../src/platform/database/database.ts';
import { createApp } from '../../src/platform/http/app.ts';
import { createHealth } from '../../src/platform/http/health.ts';
import type { Route } from '../../src/platform/http/route.ts';
import { createHttpServer } from '../../src/platform/http/server.ts';
import { createLogger } from '../../src/platform/logger.ts';
import { openPlatform } from '../../src/platform/opening/platform.ts';
import { createSealing } from '../audit/sealing.ts';
import { basic } from '../authentication/tokens/accounts.ts';
import { AUDIT_KEY, createTestDatabase, PATIENT } from '../setup/database.ts';
import { takePort } from '../setup/ports.ts';

export type Answer = {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  // biome-ignore lint/suspicious/noExplicitAny: an answer is whatever the service sent
  readonly body: any;
};

/** A tenant with somebody who may do everything there. */
export type Party = {
  readonly credentials: Provisioned;
  /** The `Authorization` of its application at the token endpoint. */
  readonly authorization: string;
  /** An access token with every scope. */
  readonly token: string;
  /** Sends JSON to this tenant's address, with its own token unless told; `null` sends none. */
  readonly send: (
    method: string,
    path: string,
    body?: unknown,
    token?: string | null,
    headers?: Record<string, string>,
  ) => Promise<Answer>;
  /** Posts a form to this tenant's issuer, as its application unless told; '' sends no credentials. */
  readonly post: (path: string, form: Record<string, string>, authorization?: string) => Promise<Answer>;
  /**
   * Every id that a row of this tenant has in the database, with the tenant's own, its slug and the ids of its issuer's
   * keys.
   */
  readonly ids: () => Promise<string[]>;
  /** Rows in its audit log that tell of changes: every change is one. */
  readonly countChanges: () => Promise<number>;
  /** Holds the endpoint of a subscription, as a receiver does by Retry-After. */
  readonly holdEndpoint: (subscriptionId: string) => Promise<void>;
};

/**
 * Starts it. @param extra routes beside those of the service, made from what they may need
 * @param place where the service finds its database; it also gets the address for the owner of the tables
 * @param variables further settings
 * @param limits of the service's database, which no busy machine reaches unless they are given
 */
export async function startTenants(
  extra: (database: Database) => Route[] = () => [],
  place: (url: string, ownerUrl: string) => Promise<string> = async (url) => url,
  variables: Readonly<Record<string, string>> = {},
  limits: DatabaseLimits = PATIENT,
) {
  const { database, url: ownerUrl, serviceUrl: direct, drop } = await createTestDatabase();
  const url = await place(direct, ownerUrl);
  const port = await takePort();
  const config = loadConfig(
    {
      DATABASE_URL: url,
      PUBLIC_URL: `http://localhost:${port}`,
      MASTER_KEY: Buffer.alloc(32, 1).toString('base64'),
      AUDIT_KEY,
      LOG_LEVEL: 'silent',
      NODE_ENV: 'test',
      ...Object.fromEntries(
        ['TENANT', 'ADDRESS', 'FINGERPRINT_FAILURES', 'CLIENT_FAILURES', 'PUBLISH'].map((name) => [
          `RATE_LIMIT_${name}`,
          '0',
        ]),
      ),
      ...variables,
    },
    { role: 'api' },
  );
  const logger = createLogger(config);
  const management = wireManagement(config, logger);
  // The last, because its clock times all ids of the process: that of one that asks for little is far behind.
  const platform = openPlatform(config, { logger, name: 'test', limits });
  const api = wireApi(platform);
  const health = createHealth({
    ping: async () => undefined,
    pendingMigrations: async () => [],
    probeTemporal: async () => true,
  });
  const app = createApp({
    ...api,
    routes: [...api.routes, ...extra(database)],
    database: platform.database,
    health,
    config,
    logger,
  });
  const http = createHttpServer(app, config);
  let attempting: { stop(): Promise<void> } | undefined;
  await http.listen({ port, host: 'localhost' });
  const join = async (slug: string) =>
    openParty(await management.provisioning.provision({ slug }), platform.database);
  const [owner, stranger] = [await join('owner-of-the-rows'), await join('stranger')];
  // So that there are checkpoints to read.
  await createSealing(database, config).sealAll();
  return {
    routes: api.routes,
    /** The address of the database. */
    url,
    database,
    owner,
    stranger,
    suspensions: management.suspensions,
    /** Makes first attempts of published events from now on, as an api process does. */
    startAttempts: (): void => {
      attempting = api.directAttempts?.start();
    },
    close: async () => {
      await http.drain(0);
      await attempting?.stop();
      await api.close();
      await Promise.all([platform.close(), management.close()]);
      await drop();
    },
  };
}

export type Tenants = Awaited<ReturnType<typeof startTenants>>;

async function openParty(credentials: Provisioned, database: Database): Promise<Party> {
  const authorization = basic(credentials.client_id, credentials.client_secret);
  const post = async (path: string, form: Record<string, string>, header = authorization) =>
    readAnswer(
      await fetch(credentials.issuer_url + path, {
        method: 'POST',
        headers: {
          ...(header === '' ? {} : { authorization: header }),
          'content-type': 'application/x-www-form-urlencoded',
        },
        body: new URLSearchParams(form).toString(),
      }),
    );
  const granted = await post('/oauth/token', { grant_type: 'client_credentials' });
  if (granted.status !== 200) throw new Error(`no token: ${granted.text}`);
  const token: string = granted.body.access_token;
  return {
    credentials,
    authorization,
    token,
    post,
    send: async (method, path, body, bearer = token, headers = {}) =>
      readAnswer(
        await fetch(credentials.base_url + path, {
          method,
          headers: {
            ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        }),
      ),
    ids: () => readIds(database, credentials),
    countChanges: async () => {
      const { rows } = await database.query<{ count: number }>(
        `SELECT count(*)::int AS count FROM audit_log WHERE tenant_id = $1
           AND action NOT IN ('audit.read', 'auth.token.introspected', 'auth.access.refused')`,
        [credentials.tenant_id],
      );
      return rows[0]?.count ?? 0;
    },
    holdEndpoint: async (subscriptionId) => {
      await database.query(
        "UPDATE endpoints SET state = 'held', hold_until = now() + interval '1 hour' WHERE subscription_id = $1",
        [subscriptionId],
      );
    },
  };
}

async function readAnswer(response: Response): Promise<Answer> {
  const text = await response.text();
  const type = response.headers.get('content-type') ?? '';
  const { status, headers } = response;
  return { status, headers, text, body: /json/.test(type) && text !== '' ? JSON.parse(text) : {} };
}

async function readIds(database: Database, { tenant_id: tenantId, slug }: Provisioned): Promise<string[]> {
  const { rows: tables } = await database.query<{ name: string }>(
    `SELECT table_name AS name FROM information_schema.columns JOIN information_schema.tables USING (table_schema, table_name)
     WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND column_name IN ('tenant_id', 'id') AND data_type = 'uuid'
     GROUP BY table_name HAVING count(*) = 2`,
  );
  const selects = tables.map(({ name }) => `SELECT id::text FROM ${name} WHERE tenant_id = $1`);
  const { rows } = await database.query<{ id: string }>(
    [
      ...selects,
      "SELECT unnest(ARRAY[kid, delivery_jwk->>'kid']) FROM issuer_keys WHERE tenant_id = $1",
    ].join(' UNION '),
    [tenantId],
  );
  return [tenantId, slug, ...rows.map(({ id }) => id)];
}
