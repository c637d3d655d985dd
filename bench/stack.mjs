// What is measured, on one Postgres of its own in a folder that goes away: the floor's process and the service's API
// process.
import { randomBytes } from 'node:crypto';
import pg from 'pg';
import { findFreePort } from '#dist/src/app/local/ports.js';
import { createClients } from './clients.mjs';
import { inputsOf, startFloor } from './floor-process.mjs';
import { makeKey } from './keys.mjs';
import { prepareDatabase } from './prepare-database.mjs';
import { pinToCore } from './processes.mjs';
import { call, createTenant, end, openPostgres, ready, startRole } from './service.mjs';

const AGENTS = 64;
/** Scenarios whose load has keys. */
const AUTHENTICATING = ['challenges', 'refresh', 'exchange'];

/** @returns `postgres` (process id), `startFloor` and `startService` (pid, port and inputs of the load), `close` */
export async function openStack({ scenario, algorithm, subscriptions, tenants, client, profile }) {
  const postgres = await openPostgres();
  const children = [];
  const keys = Array.from({ length: AGENTS }, () => makeKey(algorithm));
  const clientKey = client === 'key' ? makeKey('es256') : undefined;

  async function startService() {
    const [masterKey, auditKey] = [randomBytes(32), randomBytes(32)].map((key) => key.toString('base64'));
    await prepareDatabase(postgres.url, auditKey);
    const port = await findFreePort();
    const environment = {
      PATH: process.env.PATH,
      NODE_ENV: 'production',
      DATABASE_URL: postgres.url,
      MASTER_KEY: masterKey,
      AUDIT_KEY: auditKey,
      PORT: String(port),
      DEFAULT_TENANT: 'bench',
      RATE_LIMIT_TENANT: '100000000',
      RATE_LIMIT_ADDRESS: '100000000',
      LOG_FORMAT: 'json',
    };
    const created = await createTenant('bench', environment);
    const credentials = [created.client_id, created.client_secret];
    if (subscriptions > 0) await subscribe(postgres.url, created.tenant_id, subscriptions);
    const count = clientKey === undefined ? tenants : Math.max(1, tenants);
    const clients = count > 0 ? await createClients(environment, { count, key: clientKey }) : undefined;
    const child = startRole('api', environment, profile);
    children.push(child);
    pinToCore(child.pid);
    const origin = `http://127.0.0.1:${port}`;
    await ready(`${origin}/healthz`, child);
    const registered = AUTHENTICATING.includes(scenario)
      ? await register(origin, credentials, { algorithm, keys })
      : [];
    return { pid: child.pid, port, inputs: { ...inputsOf(credentials, algorithm, registered), clients } };
  }

  return {
    postgres: postgres.pid,
    startFloor: async () => {
      const { child, ...target } = await startFloor(postgres.url, { algorithm, keys, clientKey });
      children.push(child);
      return target;
    },
    startService,
    close: async () => {
      await Promise.all(children.map(end));
      await postgres.close();
    },
  };
}

/** Registers an agent for each key, which may act for the application. @returns the keys with their fingerprints */
async function register(origin, credentials, { algorithm, keys }) {
  const token = await call(`${origin}/oauth/token`, {
    headers: { authorization: inputsOf(credentials).authorization },
    body: new URLSearchParams({ grant_type: 'client_credentials' }),
  });
  const headers = { authorization: `Bearer ${token.access_token}`, 'content-type': 'application/json' };
  const { iss: issuer } = JSON.parse(Buffer.from(token.access_token.split('.')[1], 'base64url').toString());
  return Promise.all(
    keys.map(async (key, index) => {
      const agent = await call(`${origin}/api/v1/agents`, {
        headers,
        body: JSON.stringify({ name: `agent ${index}`, capabilities: [] }),
      });
      const { fingerprint } = await call(`${origin}/api/v1/agents/${agent.id}/keys`, {
        headers,
        body: JSON.stringify({ algorithm, public_key: key.publicKey }),
      });
      await call(`${origin}/api/v1/delegations`, {
        headers,
        body: JSON.stringify({
          subject: { issuer, sub: credentials[0] },
          agent_id: agent.id,
          scopes: ['openid'],
          expires_at: new Date(Date.now() + 3_600_000).toISOString(),
        }),
      });
      return { ...key, fingerprint };
    }),
  );
}

/** Subscriptions to everything; no worker runs, so their deliveries only pile up. */
async function subscribe(url, tenantId, count) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(
    `WITH made AS (
       INSERT INTO subscriptions (id, tenant_id, url, host, event_types, filters, sink, secret_sealed)
       SELECT gen_random_uuid(), $1, 'https://example.com/', 'example.com', '{*}', '{*}', 'audit', '\\x00' FROM generate_series(1, $2)
       RETURNING id
     ) INSERT INTO endpoints (subscription_id, tenant_id) SELECT id, $1 FROM made`,
    [tenantId, count],
  );
  await client.end();
}
