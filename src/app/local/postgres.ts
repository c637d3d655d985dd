// Runs the embedded Postgres of a data folder on 127.0.0.1. A leftover Postgres on the same cluster is stopped first.
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newClient } from '../../platform/database/client.ts';
import type { ServiceRole } from '../../platform/database/service-role.ts';
import type { Keeper } from './keeper.ts';
import { LocalStackError } from './local-stack-error.ts';
import { type Part, startPart } from './part.ts';
import { findFreePort } from './ports.ts';
import {
  keepPort,
  POSTGRES_ROLE,
  type PostgresCluster,
  postgresEnvironment,
  prepareCluster,
} from './postgres-cluster.ts';
import { endProcess, identify, lookUp, type PartEnd } from './processes.ts';

const DATABASE = 'countersign';

/** A fast shutdown, then an immediate one (the next start recovers), then SIGKILL. */
const POSTGRES_END: PartEnd = { order: 4, grace: 20_000, signals: ['SIGINT', 'SIGQUIT', 'SIGKILL'] };

export type PostgresOptions = {
  dataDir: string;
  /** The wanted port; by default the port of the last run, or any free one. */
  port?: number | undefined;
  /** False in tests only: a crash of the machine loses the data. */
  durable?: boolean | undefined;
  maxConnections?: number | undefined;
  keeper?: Keeper | undefined;
  signal?: AbortSignal | undefined;
  log: (line: string) => void;
};

/**
 * A database of the local stack: `url` connects as the owner of its tables, `service.url` as the role of api and
 * worker, which `migrate` makes.
 */
export type LocalDatabase = {
  readonly url: string;
  readonly service?: (Required<ServiceRole> & { readonly url: string }) | undefined;
};

/** `url` connects as superuser; `cluster` is the folder of its files; `stop` is a fast shutdown. */
export type RunningPostgres = Part &
  Required<LocalDatabase> & { readonly port: number; readonly cluster: string };

/**
 * Starts Postgres and waits until it answers, also during recovery after a crash.
 * @throws LocalStackError with one line for the operator
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const cluster = await prepareCluster({ dataDir: options.dataDir, say: options.log });
  await endLeftover(cluster.cluster);
  for (let attempt = 1; ; attempt += 1) {
    const port = await findFreePort(options.port ?? cluster.record.port);
    await keepPort(options.dataDir, cluster.record, port);
    try {
      return await run(cluster, port, options);
    } catch (error) {
      const lingering = error instanceof Error && /pre-existing shared memory/.test(error.message);
      if (!lingering || attempt === 40) throw error;
      await sleep(250);
    }
  }
}

async function run(
  cluster: PostgresCluster,
  port: number,
  options: PostgresOptions,
): Promise<RunningPostgres> {
  const { dataDir, durable = true, maxConnections = 100 } = options;
  const { password, servicePassword } = cluster.record;
  const urlOf = (role: ServiceRole, name = DATABASE) =>
    `postgres://${role.name}:${role.password}@127.0.0.1:${port}/${name}`;
  const owner = { name: POSTGRES_ROLE, password };
  const service = { name: `${POSTGRES_ROLE}_service`, password: servicePassword };
  const part = await startPart({
    name: 'Postgres',
    program: join(cluster.binaries.folder, 'bin', 'postgres'),
    args: ['-D', cluster.cluster, '-p', String(port), ...settings({ durable, maxConnections })],
    spawn: { ...cluster.user, cwd: '/', env: postgresEnvironment() },
    dataDir,
    end: POSTGRES_END,
    keeper: options.keeper,
    signal: options.signal,
    ready: (_, ended) => untilReady({ url: urlOf(owner, 'postgres'), signal: ended }),
  });
  return {
    ...part,
    port,
    url: urlOf(owner),
    service: { ...service, url: urlOf(service) },
    cluster: cluster.cluster,
  };
}

function settings({ durable, maxConnections }: { durable: boolean; maxConnections: number }): string[] {
  const values: Record<string, string> = {
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: String(maxConnections),
    shared_buffers: '128MB',
    max_wal_size: '2GB',
    jit: 'off',
    autovacuum_naptime: '15s',
    log_min_messages: 'warning',
    log_min_error_statement: 'panic',
    log_timezone: 'UTC',
    timezone: 'UTC',
    ...(durable
      ? {}
      : { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off', max_wal_size: '256MB' }),
  };
  return Object.entries(values).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

/** Waits until Postgres answers, then creates the database if it is missing. */
async function untilReady({ url, signal }: { url: string; signal: AbortSignal }): Promise<void> {
  for (const deadline = Date.now() + 300_000; Date.now() < deadline; ) {
    const client = newClient({ connectionString: url, connectionTimeoutMillis: 5_000 });
    try {
      await client.connect();
      const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [DATABASE]);
      if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(DATABASE)}`);
      return;
    } catch (error) {
      if (!isStarting(error)) throw error;
    } finally {
      await client.end().catch(() => undefined);
    }
    await sleep(50, undefined, { signal });
  }
  throw new LocalStackError('Postgres did not become ready within five minutes.');
}

/** True while Postgres does not listen yet, or is in recovery (57P03). */
function isStarting(error: unknown): boolean {
  const { code = '', message = '' } = error as { code?: string; message?: string };
  return ['ECONNREFUSED', 'ECONNRESET', '57P03'].includes(code) || /terminated|timeout/.test(message);
}

/** Ends a Postgres of an earlier run that no list names; its process id is in a file in the cluster. */
async function endLeftover(cluster: string): Promise<void> {
  const file = join(cluster, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => null);
  const identity = text === null ? null : identify(Number.parseInt(text, 10));
  // The file is kept when its process has ended: Postgres needs it to detect child processes that outlived a killed
  // parent.
  if (identity === null) return;
  if (lookUp(identity.pid)?.command.includes(cluster) !== true) {
    // Another process has this id now. Postgres would mistake it for a running server, so the file is removed.
    await rm(file, { force: true });
  } else if (!(await endProcess(identity, POSTGRES_END))) {
    throw new LocalStackError(`Postgres ${identity.pid} still uses ${cluster} and cannot be stopped.`);
  }
}
