// Everything that a delivery passes, on ports and in a folder of its own: Postgres, Temporal with its file, one API process, workers, a receiver.
import { fork, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { findFreePort } from '../dist/src/app/local/ports.js';
import { startPostgres } from '../dist/src/app/local/postgres.js';
import { startTemporal } from '../dist/src/app/local/temporal.js';
import { obtainTemporal } from '../dist/src/app/local/temporal-program.js';
import { call, end, output, ready } from './service.mjs';

const MAIN = fileURLToPath(new URL('../dist/src/main.js', import.meta.url));
const RECEIVER = fileURLToPath(new URL('./receiver.mjs', import.meta.url));
/** Days of partitions as an installation has them after a month: a statement that is planned anew opens them all. */
const DAYS = 30;
const say = (line) => process.stderr.write(`${line}\n`);

/**
 * @param options.settings environment variables beside the usual ones
 * @returns `pids` by part, addresses of Postgres and Temporal, `receiver` (a child process), `origin` and `port` of the API, `basic` and
 *   `authorization` (headers of the application), `close`
 */
export async function openDeliveryStack({
  mode,
  workers,
  endpoints,
  profile,
  receiver: kind = 'healthy',
  settings = {},
}) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-bench-'));
  await chmod(folder, 0o755);
  const children = [];
  const postgres = await startPostgres({ dataDir: folder, log: say });
  const temporal = await startTemporal({
    program: await obtainTemporal({ binFolder: resolve('.data', 'bin'), path: process.env.PATH ?? '', say }),
    dataDir: folder,
    port: await findFreePort(),
    uiPort: null,
    namespace: 'countersign',
  });
  const port = await findFreePort();
  const environment = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    DATABASE_URL: postgres.url,
    TEMPORAL_ADDRESS: temporal.address,
    MASTER_KEY: randomBytes(32).toString('base64'),
    PORT: String(port),
    METRICS_PORT: '0',
    DEFAULT_TENANT: 'bench',
    DELIVERY_WORKFLOWS: mode,
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    RATE_LIMIT_TENANT: '0',
    RATE_LIMIT_ADDRESS: '0',
    RATE_LIMIT_PUBLISH: '0',
    ACCESS_TOKEN_LIFETIME: '3600',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'error',
    ...settings,
  };
  await output([MAIN, 'migrate'], environment);
  await makePartitions(postgres.url);
  const tenant = JSON.parse(await output([MAIN, 'tenant', 'create', 'bench', '--json'], environment));
  const role = (name) => {
    const flags = profile === undefined ? [] : ['--cpu-prof', '--cpu-prof-dir', profile];
    const child = spawn(process.execPath, [...flags, MAIN, name], {
      env: environment,
      stdio: ['ignore', 'ignore', 'inherit'],
    });
    children.push(child);
    return child;
  };
  const api = role('api');
  const working = Array.from({ length: workers }, () => role('worker'));
  const origin = `http://127.0.0.1:${port}`;
  await ready(`${origin}/readyz`, api);
  const receiver = fork(RECEIVER, [kind]);
  children.push(receiver);
  const [{ port: receiverPort }] = await once(receiver, 'message');
  const basic = `Basic ${Buffer.from(`${tenant.client_id}:${tenant.client_secret}`).toString('base64')}`;
  const token = await call(`${origin}/oauth/token`, {
    headers: { authorization: basic },
    body: new URLSearchParams({ grant_type: 'client_credentials', scope: 'events:write webhooks:write' }),
  });
  const authorization = `Bearer ${token.access_token}`;
  for (let n = 0; n < endpoints; n += 1)
    await call(`${origin}/api/v1/webhooks`, {
      headers: { authorization, 'content-type': 'application/json' },
      body: JSON.stringify({
        url: `http://127.0.0.1:${receiverPort}/${n}`,
        event_types: [`bench.endpoint.e${n}`],
      }),
    });
  return {
    pids: { api: [api.pid], worker: working.map(({ pid }) => pid), temporal: [temporal.pid] },
    postgres: postgres.pid,
    databaseUrl: postgres.url,
    temporalAddress: temporal.address,
    receiver,
    origin,
    port,
    basic,
    authorization,
    close: async () => {
      await Promise.all(children.map(end));
      await temporal.stop();
      await postgres.stop();
      await rm(postgres.cluster, { recursive: true, force: true });
      await rm(folder, { recursive: true, force: true });
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
