// The real stack: Postgres, Temporal, two apis and two workers as processes, and a proxy on each way between two of
// them.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmod, cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import pg from 'pg';
import { createKeeper } from '#dist/src/app/local/keeper.js';
import { startPostgres } from '#dist/src/app/local/postgres.js';
import { startTemporal } from '#dist/src/app/local/temporal.js';
import { obtainTemporal } from '#dist/src/app/local/temporal-program.js';
import { deployTemporal } from './deployed-temporal.mjs';
import { now } from './ledger.mjs';
import { findLowPort } from './ports.mjs';
import { createProxy } from './proxy.mjs';
import { createRole } from './role.mjs';
import { addStandby, promote } from './standby.mjs';
import { createUpgrades } from './upgrade.mjs';

export const TENANT = 'faults';
const NAMESPACE = 'countersign';
const ROLES = { api1: 'api', api2: 'api', worker1: 'worker', worker2: 'worker' };

/**
 * @param options `main`: the built entry point of the service; `deployed`: programs of `obtainDeployedTemporal`, absent:
 *   Temporal's development server; `onOwnEnd`: see role.mjs
 */
export async function openStack({ main, deployed, onOwnEnd }) {
  const folder = await mkdtemp(join(tmpdir(), 'countersign-faults-'));
  await chmod(folder, 0o755);
  const keeper = createKeeper({ file: join(folder, 'parts.json'), remove: [folder] });
  const quiet = () => undefined;
  const temporalPort = await findLowPort();
  /** The data folder of the Postgres that serves, and its port, as the address of a deployment leads to the primary. */
  let home = folder;
  let postgresPort = await findLowPort();
  let postgres = await startPostgres({ dataDir: home, port: postgresPort, keeper, log: quiet });
  await query(postgres.url, 'ALTER SYSTEM SET track_commit_timestamp = on');
  // What a killed server has written stays with the kernel: how fast this machine's disk is does not matter.
  await query(postgres.url, 'ALTER SYSTEM SET fsync = off');
  // A standby streams the WAL since it was copied.
  await query(postgres.url, `ALTER SYSTEM SET wal_keep_size = '512MB'`);
  await postgres.stop();
  postgres = await startPostgres({ dataDir: home, port: postgresPort, keeper, log: quiet });
  const toPostgres = await createProxy(() => postgresPort);
  const server = { folder, port: temporalPort, namespace: NAMESPACE, keeper };
  const temporalServer =
    deployed === undefined
      ? await developTemporal(server)
      : await deployTemporal({
          ...server,
          programs: deployed,
          postgres: { port: toPostgres.port, query: (text) => query(postgres.url, text) },
        });
  let temporal = await temporalServer.start();

  const links = {};
  for (const name of Object.keys(ROLES)) {
    links[`${name}-postgres`] = await createProxy(() => postgresPort);
    links[`${name}-temporal`] = await createProxy(() => temporalPort);
  }
  const direct = {
    PATH: process.env.PATH,
    NODE_ENV: 'production',
    TEMPORAL_ADDRESS: temporal.address,
    MASTER_KEY: randomBytes(32).toString('base64'),
    AUDIT_KEY: randomBytes(32).toString('base64'),
    METRICS_PORT: '0',
    DEFAULT_TENANT: TENANT,
    PUBLIC_URL: 'http://localhost:8080',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    RATE_LIMIT_TENANT: '0',
    RATE_LIMIT_ADDRESS: '0',
    RATE_LIMIT_PUBLISH: '0',
    RATE_LIMIT_FINGERPRINT_FAILURES: '0',
    ACCESS_TOKEN_LIFETIME: '7200',
    LOG_FORMAT: 'json',
    LOG_LEVEL: 'warn',
  };

  /** Runs a command of the service beside the proxies. @returns its exit code and what it wrote to stdout */
  const run = async (...args) => {
    const child = spawn(process.execPath, [main, ...args], {
      env: { ...direct, DATABASE_URL: postgres.url },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [text, errors] = ['', ''];
    child.stdout.on('data', (chunk) => (text += chunk));
    child.stderr.on('data', (chunk) => (errors += chunk));
    const [code] = await once(child, 'close');
    return { code, text, errors };
  };

  await run('migrate');
  const made = await run('tenant', 'create', TENANT, '--json');
  if (made.code !== 0) throw new Error(made.errors);
  const tenant = JSON.parse(made.text);
  const roles = {};
  const makeRole = (name, { as = name, ...variables }) => {
    const through = new URL(postgres.url);
    through.port = String(links[`${name}-postgres`].port);
    const environment = {
      ...direct,
      DATABASE_URL: through.href,
      TEMPORAL_ADDRESS: `127.0.0.1:${links[`${name}-temporal`].port}`,
      ...variables,
    };
    return createRole({ name: as, role: ROLES[name], main, folder, keeper, onOwnEnd, environment });
  };
  for (const name of Object.keys(ROLES)) {
    const port = await findLowPort();
    roles[name] = { ...makeRole(name, { PORT: String(port) }), origin: `http://127.0.0.1:${port}` };
  }
  const upgrades = createUpgrades({
    ...{ roles, namespace: NAMESPACE, address: () => temporal.address },
    makeWorker: (name, build) => makeRole(name, { as: `${name}-${build}`, WORKER_BUILD_ID: build }),
  });

  const startPostgresAgain = async () => {
    postgres = await startPostgres({ dataDir: home, port: postgresPort, keeper, log: quiet });
  };
  let standbys = 0;
  let standby;
  const attachStandby = async () => {
    standbys += 1;
    const to = join(folder, `standby-${standbys}`);
    standby = { home: to, running: await addStandby({ primary: postgres, home, to, keeper }) };
  };
  /**
   * Promotes the standby. @param how what becomes of the primary: `crashed`; `stopped`, and the address leads to the
   *   standby before it takes writes; `frozen` for a while; `cut off`: only those who are connected reach it for a while
   * @returns when the standby took writes
   */
  const failOver = async (how) => {
    const old = postgres;
    const pids = treeOf(old.pid);
    const moveTo = ({ home: to, running }) => {
      [home, postgres, postgresPort] = [to, running, running.port];
    };
    if (how === 'crashed') await killAll(old, pids);
    if (how === 'frozen') signalAll(pids, 'SIGSTOP');
    if (how === 'stopped') {
      await old.stop();
      moveTo(standby);
      await sleep(1_000);
    }
    await promote(standby.running);
    const promoted = now();
    moveTo(standby);
    if (how === 'frozen' || how === 'cut off') await sleep(4_000);
    if (how !== 'crashed' && how !== 'stopped') await killAll(old, treeOf(old.pid));
    await rm(old.cluster, { recursive: true, force: true });
    return promoted;
  };
  const startTemporalAgain = async () => {
    temporal = await temporalServer.start();
  };
  /** Waits until both apis are ready. */
  const ready = async () => {
    for (const { role, origin } of Object.values(roles))
      while (role === 'api' && !(await isReady(origin))) await sleep(100);
  };

  return {
    folder,
    tenant,
    roles,
    links,
    upgrades,
    apis: Object.values(roles).filter(({ role }) => role === 'api'),
    run,
    ready,
    start: async () => {
      for (const role of Object.values(roles)) role.start();
      await ready();
    },
    query: (text, values) => query(postgres.url, text, values),
    traceDelivery: (id) => traceDelivery({ url: postgres.url, address: temporal.address, id }),
    postgres: {
      pids: () => treeOf(postgres.pid),
      url: () => postgres.url,
      cluster: () => postgres.cluster,
      kill: async () => {
        process.kill(postgres.pid, 'SIGKILL');
        await postgres.exited;
      },
      stop: () => postgres.stop(),
      start: startPostgresAgain,
      addStandby: attachStandby,
      failOver,
      isUp: () => isAlive(postgres.pid),
      /** A cold copy of all its files, and back. */
      copyTo: (to) =>
        cp(postgres.cluster, to, { recursive: true, preserveTimestamps: true }).then(() =>
          own(postgres.cluster, to),
        ),
      copyFrom: async (from) => {
        await rm(postgres.cluster, { recursive: true, force: true });
        await cp(from, postgres.cluster, { recursive: true, preserveTimestamps: true });
        own(from, postgres.cluster);
      },
    },
    temporal: {
      pids: () => [temporal.pid],
      kill: async () => {
        if (isAlive(temporal.pid)) process.kill(temporal.pid, 'SIGKILL');
        await temporal.exited;
      },
      start: startTemporalAgain,
      lose: temporalServer.lose,
      isUp: () => isAlive(temporal.pid),
    },
    close: async () => {
      await Promise.all(Object.values(roles).map((role) => role.kill()));
      for (const link of [...Object.values(links), toPostgres]) link.close();
      await temporal.stop();
      await postgres.stop();
      await keeper.close();
      await rm(postgres.cluster, { recursive: true, force: true });
      await rm(folder, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

/** Temporal's development server with its file, like `deployTemporal`. */
async function developTemporal({ folder, port, namespace, keeper }) {
  const program = await obtainTemporal({
    binFolder: resolve('.data', 'bin'),
    path: process.env.PATH ?? '',
    say: () => undefined,
  });
  return {
    start: () => startTemporal({ program, dataDir: folder, port, uiPort: null, namespace, keeper }),
    lose: async () => {
      for (const end of ['', '-wal', '-shm'])
        await rm(join(folder, 'temporal', `temporal.db${end}`), { force: true });
    },
  };
}

export async function query(connectionString, text, values) {
  const client = new pg.Client({ connectionString, connectionTimeoutMillis: 10_000 });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.query(text, values)).rows;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** All that Postgres and Temporal know of a delivery, with the history of its newest workflow. */
async function traceDelivery({ url, address, id }) {
  const rows = {};
  for (const [table, column] of Object.entries({
    deliveries: 'id',
    attempts: 'delivery_id',
    outbox: 'delivery_id',
  }))
    rows[table] = await query(
      url,
      `SELECT to_jsonb(t) - 'response_excerpt' AS row FROM ${table} t WHERE ${column} = $1`,
      [id],
    );
  const [{ row } = {}] = rows.deliveries;
  const connection = await Connection.connect({ address });
  const client = new Client({ connection, namespace: NAMESPACE });
  const workflow = `delivery/${id}${row?.generation ? `/${row.generation}` : ''}`;
  const history = await client.workflow
    .getHandle(workflow)
    .fetchHistory()
    .then(
      ({ events }) => events,
      (error) => error.message,
    );
  await connection.close();
  return { workflow, ...rows, history };
}

async function isReady(origin) {
  const response = await fetch(`${origin}/readyz`, { signal: AbortSignal.timeout(5_000) }).catch(() => null);
  await response?.text().catch(() => undefined);
  return response?.ok === true;
}

/** Kills a server with all that it has started, of which some may be frozen. */
async function killAll(server, pids) {
  signalAll(pids, 'SIGKILL');
  await server.exited;
}

function signalAll(pids, name) {
  for (const pid of pids) if (isAlive(pid)) process.kill(pid, name);
}

/** A process and those that it has started. */
function treeOf(pid) {
  const list = execFileSync('ps', ['-eo', 'pid=,ppid='], { encoding: 'utf8' });
  const children = list.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  return [pid, ...children.filter(([, parent]) => parent === pid).map(([child]) => child)];
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** Postgres refuses files of another user; a copy by root is root's. */
function own(from, to) {
  if (process.getuid?.() === 0) execFileSync('chown', ['-R', `--reference=${from}`, to]);
}
