// Runs the embedded Postgres of a data folder on 127.0.0.1, in a separate process group. A leftover Postgres on the
// same cluster is stopped first.
import { spawn } from 'node:child_process';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newClient } from '../../platform/database/client.ts';
import type { ServiceRole } from '../../platform/database/service-role.ts';
import { type PartExit, stopPart, watchPart } from './foreign-part.ts';
import type { Keeper, PartEnd } from './keeper.ts';
import { LocalStackError } from './local-stack-error.ts';
import { openPartLog } from './part-log.ts';
import { findFreePort } from './ports.ts';
import {
  keepPort,
  POSTGRES_ROLE,
  type PostgresCluster,
  postgresEnvironment,
  prepareCluster,
} from './postgres-cluster.ts';
import { commandOf, endProcess, identify } from './processes.ts';

/** A fast shutdown, then an immediate one (the next start recovers), then SIGKILL. */
const POSTGRES_END: PartEnd = { order: 4, grace: 20_000, signals: ['SIGINT', 'SIGQUIT', 'SIGKILL'] };

export type PostgresOptions = {
  dataDir: string;
  /** The wanted port; by default the port of the last run, or any free one. */
  port?: number | undefined;
  /** False in tests only: a crash of the machine loses the data. */
  durable?: boolean | undefined;
  maxConnections?: number | undefined;
  database?: string | undefined;
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

/**
 * `url` connects to the database as superuser, `service.url` as the role of api and worker; `cluster` is the folder of
 * its files; `exited` never rejects; `stop` is a fast shutdown and resolves when Postgres has ended.
 */
export type RunningPostgres = Required<LocalDatabase> & {
  readonly pid: number;
  readonly port: number;
  readonly cluster: string;
  readonly exited: Promise<PartExit>;
  readonly stop: () => Promise<void>;
};

/**
 * Starts Postgres and waits until it answers, also during recovery after a crash.
 * @throws LocalStackError with one line for the operator
 */
export async function startPostgres(options: PostgresOptions): Promise<RunningPostgres> {
  const cluster = await prepareCluster({ dataDir: options.dataDir, say: options.log });
  await endLeftover(cluster.cluster);
  for (let attempt = 1; ; attempt += 1) {
    const port = await findFreePort(options.port ?? cluster.record.port);
    try {
      const running = await run(cluster, port, options);
      await keepPort(options.dataDir, cluster.record, port).catch(async (error: unknown) => {
        await running.stop();
        throw error;
      });
      return running;
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
  const { dataDir, durable = true, maxConnections = 100, database = 'countersign', keeper } = options;
  const output = openPartLog(dataDir, 'postgres');
  const child = spawn(
    join(cluster.binaries.folder, 'bin', 'postgres'),
    ['-D', cluster.cluster, '-p', String(port), ...settings({ durable, maxConnections })],
    {
      ...cluster.user,
      cwd: '/',
      detached: true,
      env: postgresEnvironment(),
      stdio: ['ignore', output.fd, output.fd],
    },
  );
  output.close();
  const { pid } = child;
  if (pid !== undefined) keeper?.add('postgres', pid, POSTGRES_END);
  const exited = watchPart(child, { dataDir, output }).then((exit) => {
    if (pid !== undefined) keeper?.remove(pid);
    return exit;
  });
  const { password, servicePassword } = cluster.record;
  try {
    await ready({
      url: urlOf({ name: POSTGRES_ROLE, password }, port, 'postgres'),
      database,
      exited,
      signal: options.signal,
    });
  } catch (error) {
    await stopPart(child, POSTGRES_END);
    throw error;
  }
  if (pid === undefined) throw new LocalStackError('Postgres could not be started.');
  const service = { name: `${POSTGRES_ROLE}_service`, password: servicePassword };
  return {
    pid,
    port,
    url: urlOf({ name: POSTGRES_ROLE, password }, port, database),
    service: { ...service, url: urlOf(service, port, database) },
    cluster: cluster.cluster,
    exited,
    stop: () => stopPart(child, POSTGRES_END),
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

function urlOf({ name, password }: ServiceRole, port: number, database: string): string {
  return `postgres://${name}:${password}@127.0.0.1:${port}/${database}`;
}

/** Waits until Postgres answers, then creates the database if it is missing. */
async function ready(options: {
  url: string;
  database: string;
  exited: Promise<PartExit>;
  signal?: AbortSignal | undefined;
}): Promise<void> {
  let exit: PartExit | undefined;
  options.exited.then(
    (ended) => {
      exit = ended;
    },
    () => undefined,
  );
  for (const deadline = Date.now() + 300_000; Date.now() < deadline; await sleep(50)) {
    if (exit !== undefined)
      throw exit.reason ?? new LocalStackError(`Postgres did not start: ${exit.description}`);
    options.signal?.throwIfAborted();
    const client = newClient({ connectionString: options.url, connectionTimeoutMillis: 5_000 });
    try {
      await client.connect();
      const { rowCount } = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [
        options.database,
      ]);
      if (rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(options.database)}`);
      return;
    } catch (error) {
      if (!isStarting(error)) throw error;
    } finally {
      await client.end().catch(() => undefined);
    }
  }
  throw new LocalStackError('Postgres did not become ready within five minutes.');
}

/** True while Postgres does not listen yet, or is in recovery (57P03). */
function isStarting(error: unknown): boolean {
  const { code, message } = error as { code?: string; message?: string };
  return (
    code === 'ECONNREFUSED' ||
    code === 'ECONNRESET' ||
    code === '57P03' ||
    /terminated|timeout/.test(message ?? '')
  );
}

/** Ends a Postgres of an earlier run; its process id is in a file in the cluster. */
async function endLeftover(cluster: PostgresCluster['cluster']): Promise<void> {
  const file = join(cluster, 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => null);
  if (text === null) return;
  const identity = identify(Number.parseInt(text, 10));
  // The file is kept when its process has ended: Postgres needs it to detect child processes that outlived a killed
  // parent.
  if (identity === null) return;
  if (commandOf(identity.pid).includes(cluster)) {
    const ended = await endProcess(
      identity,
      POSTGRES_END.signals.map((signal) => ({ signal, wait: POSTGRES_END.grace })),
    );
    if (!ended)
      throw new LocalStackError(`Postgres ${identity.pid} still uses ${cluster} and cannot be stopped.`);
  } else {
    // Another process has this id now. Postgres would mistake it for a running server, so the file is removed.
    await rm(file, { force: true });
  }
}
