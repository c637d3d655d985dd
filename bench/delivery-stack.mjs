// Everything that a delivery passes, on ports and in a folder of its own: Postgres, Temporal with its file, one API
// process, workers, receivers.
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findFreePort } from '#dist/src/app/local/ports.js';
import { startTemporal } from '#dist/src/app/local/temporal.js';
import { obtainTemporal } from '#dist/src/app/local/temporal-program.js';
import { basic, call, createTenant, end, openPostgres, output, ready, say, startRole } from './service.mjs';

const RECEIVER = fileURLToPath(new URL('./receiver.mjs', import.meta.url));
/** Days of partitions as an installation has them after a month: a statement that is planned anew opens them all. */
const DAYS = 30;
const SCOPES = 'agents:read agents:write events:write webhooks:write';

/**
 * @param {{ workers: number, profile?: string }} options
 * @returns `pids` by part, addresses of Postgres and Temporal, `origin` and `port` of the API, `tenant` (the default
 *   one), `openTenant`, `authorize` (gives a tenant a new token), `startReceiver`, `subscribe`, `children` (they end with
 *   the stack), `close`
 */
export async function openDeliveryStack({ workers, profile }) {
  const children = new Set();
  const postgres = await openPostgres();
  const temporal = await startTemporal({
    program: await obtainTemporal({ binFolder: resolve('.data', 'bin'), path: process.env.PATH ?? '', say }),
    dataDir: postgres.folder,
    port: await findFreePort(),
    uiPort: null,
    namespace: 'countersign',
  });
  const port = await findFreePort();
  const origin = `http://127.0.0.1:${port}`;
  const environment = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    DATABASE_URL: postgres.url,
    TEMPORAL_ADDRESS: temporal.address,
    MASTER_KEY: randomBytes(32).toString('base64'),
    AUDIT_KEY: randomBytes(32).toString('base64'),
    PORT: String(port),
    METRICS_PORT: '0',
    DEFAULT_TENANT: 'bench',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    RATE_LIMIT_TENANT: '0',
    RATE_LIMIT_ADDRESS: '0',
    RATE_LIMIT_PUBLISH: '0',
    ACCESS_TOKEN_LIFETIME: '3600',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'error',
  };
  const pids = { api: [], worker: [], temporal: [temporal.pid] };
  let roles = [];

  async function startRoles() {
    const api = startRole('api', environment, profile);
    const working = Array.from({ length: workers }, () => startRole('worker', environment, profile));
    roles = [api, ...working];
    pids.api = [api.pid];
    pids.worker = working.map(({ pid }) => pid);
    await ready(`${origin}/readyz`, api);
  }

  async function makeTenant(slug) {
    const { tenant_id: id, client_id, client_secret } = await createTenant(slug, environment);
    const path = slug === environment.DEFAULT_TENANT ? '' : `/t/${slug}`;
    return { id, port, path, basic: basic(client_id, client_secret) };
  }

  async function authorize(tenant) {
    const { access_token } = await call(`${origin}${tenant.path}/oauth/token`, {
      headers: { authorization: tenant.basic },
      body: new URLSearchParams({ grant_type: 'client_credentials', scope: SCOPES }),
    });
    return { ...tenant, authorization: `Bearer ${access_token}` };
  }

  await output(['migrate'], environment);
  await makePartitions(postgres.url);
  const tenant = await makeTenant(environment.DEFAULT_TENANT);
  await startRoles();
  return {
    pids,
    postgres: postgres.pid,
    databaseUrl: postgres.url,
    children,
    origin,
    port,
    tenant: await authorize(tenant),
    authorize,
    openTenant: async (slug) => authorize(await makeTenant(slug)),
    startReceiver: async (kind) => {
      const child = fork(RECEIVER, [kind]);
      children.add(child);
      const [{ port: at }] = await once(child, 'message');
      return { child, port: at };
    },
    subscribe: async (tenant, receiver, endpoints, signatures) => {
      for (let n = 0; n < endpoints; n += 1)
        await call(`${origin}${tenant.path}/api/v1/webhooks`, {
          headers: { authorization: tenant.authorization, 'content-type': 'application/json' },
          body: JSON.stringify({
            url: `http://127.0.0.1:${receiver.port}/${n}`,
            event_types: [`bench.endpoint.e${n}`],
            signatures,
          }),
        });
    },
    close: async () => {
      await Promise.all([...children, ...roles].map(end));
      await temporal.stop();
      await postgres.close();
    },
  };
}

async function makePartitions(connectionString) {
  const client = new pg.Client({ connectionString });
  await client.connect();
  await client.query(
    `SELECT ensure_day_partition(parent, ((now() AT TIME ZONE 'UTC')::date - day)::date)
     FROM unnest('{deliveries,attempts,events}'::text[]) AS parent, generate_series(1, ${DAYS}) AS day`,
  );
  await client.end();
}
