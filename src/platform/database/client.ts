// Database clients with an error listener. Without it, the `error` event of a broken connection would end the process.
import { setTimeout as sleep } from 'node:timers/promises';
import pg, { type ClientConfig, type Pool, type PoolClient } from 'pg';

/**
 * Makes an unconnected client outside the pools.
 * @param onError receives a connection loss between two statements; the next statement fails in any case
 */
export function newClient(
  config: ClientConfig,
  onError: (error: Error) => void = () => undefined,
): pg.Client {
  const client = new pg.Client(config);
  client.on('error', onError);
  return client;
}

/** Milliseconds in which a server may close its connections. */
const CLOSING_MS = 3_000;

/** Ends a client or a pool. It does not wait for a server that no longer answers; its errors are ignored. */
export async function endConnections(connections: { end(): Promise<void> } | undefined): Promise<void> {
  const answered = new AbortController();
  const ended = connections?.end().catch(() => undefined);
  const patience = sleep(CLOSING_MS, undefined, { signal: answered.signal }).catch(() => undefined);
  await Promise.race([ended, patience]);
  answered.abort();
}

/**
 * Takes a client from the pool. After a connection loss between two statements, the next statement fails.
 * @returns `client`, and `giveBack`, to be called once: a client that broke or is not `sound` is closed instead of
 *   reused
 */
export async function checkOut(
  pool: Pool,
): Promise<{ client: PoolClient; giveBack: (sound: boolean) => void }> {
  const client = await pool.connect();
  let broken = false;
  const note = () => {
    broken = true;
  };
  // The pool listens for errors only while the client is idle.
  client.on('error', note);
  return {
    client,
    giveBack: (sound) => {
      client.release(broken || !sound);
      client.off('error', note);
    },
  };
}
