// Connects to Temporal: lazily for commands, natively for workers, whose client starts workflows eagerly on the same
// connection. The API has no connection, and accepts requests without Temporal.
import { setTimeout as sleep } from 'node:timers/promises';
import { Client, Connection } from '@temporalio/client';
import type { NativeConnection } from '@temporalio/worker';
import { connectionOptions, type TemporalSettings } from './connection-options.ts';
import { askTemporal } from './probe.client.ts';

const CHANNEL = {
  // Milliseconds between two tries to reach a server that is away: gRPC would wait up to two minutes.
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 2_000,
  // gRPC would ask DNS for a text with settings too, and hold a process for 20 s where nobody answers it.
  'grpc.service_config_disable_resolution': 1,
};

/** Makes a connection that opens at its first use. Close it with `close()`. */
export function createLazyConnection(settings: TemporalSettings): Connection {
  return Connection.lazy({
    ...connectionOptions(settings),
    connectTimeout: 2_000,
    channelArgs: CHANNEL,
  });
}

/** `signal` aborts the wait; `onFailure` receives the error of each failed try. */
type Waiting = { readonly signal?: AbortSignal; readonly onFailure?: (error: unknown) => void };

/** Connects for a worker, and repeats until Temporal answers for the namespace: a worker cannot be made before that. */
export async function connectNatively(
  settings: TemporalSettings & { readonly namespace: string },
  { signal, onFailure }: Waiting = {},
): Promise<NativeConnection> {
  // Only workers load the native core.
  const worker = await import('@temporalio/worker');
  const options = connectionOptions(settings);
  for (let pause = 250; ; pause = Math.min(pause * 2, 5_000)) {
    signal?.throwIfAborted();
    try {
      // The core would say only after many seconds that nobody answers.
      if (!(await askTemporal(settings))) throw new Error('Temporal does not answer');
      return await worker.NativeConnection.connect(options);
    } catch (error) {
      onFailure?.(error);
      await sleep(pause, undefined, { signal });
    }
  }
}

/** Makes a client; on the connection of a worker it can start workflows eagerly. */
export function createTemporalClient(
  connection: Connection | NativeConnection,
  { namespace }: { namespace: string },
): Client {
  return new Client({ connection, namespace });
}

/** Makes a client that can be used before its connection is there: its calls throw until `opening` gives the client. */
export function createLateClient(opening: Promise<{ readonly client: Client } | undefined>): Client {
  let client: Client | undefined;
  opening.then(
    (opened) => {
      client = opened?.client;
    },
    () => undefined,
  );
  const get = (_target: Client, name: string | symbol): unknown => {
    if (client === undefined) throw new Error('Temporal does not answer');
    return Reflect.get(client, name);
  };
  return new Proxy({} as Client, { get });
}

/**
 * Checks within a second whether Temporal answers this client. A process without one asks by `askTemporal`.
 * @returns false when it does not answer, or does not know the namespace
 */
export async function probeTemporal(
  client: Pick<Client, 'withDeadline' | 'workflowService' | 'options'>,
): Promise<boolean> {
  try {
    const { namespace } = client.options;
    await client.withDeadline(Date.now() + 1_000, () =>
      client.workflowService.describeNamespace({ namespace }),
    );
    return true;
  } catch {
    return false;
  }
}
