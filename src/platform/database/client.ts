// Hands out connections that may break at any moment: without a listener, an `error` event would end the process.
import pg, { type ClientConfig, type Pool, type PoolClient } from 'pg';

/**
 * Makes a client outside the pools, not connected yet.
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

/**
 * Takes a client from the pool. A connection loss between two statements fails the next statement.
 * @returns `client`, and `giveBack`, to be called once: a client that broke, or that is not `sound`, never serves again
 */
export async function checkOut(
  pool: Pool,
): Promise<{ client: PoolClient; giveBack: (sound: boolean) => void }> {
  const client = await pool.connect();
  let broken = false;
  const note = () => {
    broken = true;
  };
  // The pool listens only while the client is idle.
  client.on('error', note);
  return {
    client,
    giveBack: (sound) => {
      client.release(broken || !sound);
      client.off('error', note);
    },
  };
}
