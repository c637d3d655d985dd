// Database clients with an error listener. Without it, the `error` event of a broken connection would end the process.
import pg, { type ClientConfig, type Pool, type PoolClient, type PoolConfig } from 'pg';
import { within } from '../within.ts';
import { READ_ONLY } from './errors.ts';
import { withSession } from './session.ts';

/**
 * Makes an unconnected client outside the pools.
 * @param onError receives a connection loss between two statements; the next statement fails in any case
 */
export function newClient(
  config: ClientConfig,
  onError: (error: Error) => void = () => undefined,
): pg.Client {
  const client = new pg.Client(withSession(config));
  client.on('error', onError);
  return client;
}

/** Makes an unconnected client that listens or notifies. @param name shown in pg_stat_activity */
export function newSession(url: string, name: string, onError: (error: Error) => void): pg.Client {
  return newClient(
    {
      connectionString: url,
      application_name: name,
      connectionTimeoutMillis: 2_000,
      statement_timeout: 5_000,
      query_timeout: 6_000,
      keepAlive: true,
    },
    onError,
  );
}

/** Milliseconds in which a server may close its connections. */
const CLOSING_MS = 3_000;

/** Ends a client or a pool. It does not wait for a server that no longer answers; its errors are ignored. */
export async function endConnections(connections: { end(): Promise<void> } | undefined): Promise<void> {
  if (connections === undefined) return;
  await within(
    CLOSING_MS,
    connections.end().catch(() => undefined),
    () => undefined,
  );
}

/**
 * Opens a pool. The pool itself listens for errors only while a client is idle, and an error can arrive in one packet
 * with the answer that ends the connecting.
 * @param onError receives the error of an idle connection that broke; the pool replaces the connection
 */
export function newPool(config: PoolConfig, onError: (error: Error) => void = () => undefined): Pool {
  const pool = new pg.Pool(withSession(config));
  pool.on('connect', (client) => {
    client.on('error', () => undefined);
    leaveReadOnly(client);
  });
  pool.on('error', onError);
  return pool;
}

/**
 * Ends a connection whose server has refused a write because it takes none: the pool's next one may find the primary.
 */
function leaveReadOnly(client: PoolClient & Partial<Pick<pg.Client, 'connection' | 'end'>>): void {
  client.connection?.on('errorMessage', ({ code }: { code?: string }) => {
    if (code === READ_ONLY) void client.end?.().catch(() => undefined);
  });
}
