// Waits until a Temporal server is ready: it answers, has the namespace, and knows the search attributes.
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection } from '@temporalio/client';
import { ensureNamespace } from '../../platform/temporal/namespace.ts';

/**
 * Waits, and creates the namespace and the search attributes where they are missing.
 * @param options.address host:port of a server without TLS
 * @param options.aborted resolves with the reason when the wait has become useless
 * @param options.signal aborts the wait
 * @param options.limit milliseconds to wait at most
 * @throws the reason; Error with the last answer as its cause when the time is over
 */
export async function awaitTemporal(options: {
  address: string;
  namespace: string;
  aborted?: Promise<Error> | undefined;
  signal?: AbortSignal | undefined;
  limit?: number | undefined;
}): Promise<void> {
  const { address, namespace, limit = 60_000 } = options;
  const connection = Connection.lazy({ address, connectTimeout: 2_000 });
  let stopped: Error | undefined;
  options.aborted?.then(
    (reason) => {
      stopped = reason;
    },
    () => undefined,
  );
  let last: unknown;
  try {
    for (const deadline = Date.now() + limit; Date.now() < deadline; await sleep(50)) {
      if (stopped !== undefined) throw stopped;
      options.signal?.throwIfAborted();
      try {
        await connection.withDeadline(Date.now() + 2_000, () => connection.ensureConnected());
        if ((await ensureNamespace(connection, { namespace })) === 'ok') return;
      } catch (error) {
        last = error;
      }
    }
  } finally {
    await connection.close();
  }
  throw new Error(`Temporal at ${address} did not become ready`, { cause: last });
}
