// Waits until a Temporal server is ready: it answers, has the namespace, and knows the search attributes.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../platform/config.ts';
import { createLazyConnection } from '../../platform/temporal/client.ts';
import { ensureNamespace } from '../../platform/temporal/namespace.ts';
import { LocalStackError } from './local-stack-error.ts';

type Server = {
  readonly address: string;
  readonly namespace: string;
  /** Variables of the operator's own server, such as its TLS. */
  readonly variables?: Config['temporal']['variables'];
};

/**
 * Waits, and creates the namespace and the search attributes where they are missing.
 * @param options.signal ends the wait
 * @param options.limit milliseconds to go on trying while the server does not answer
 * @returns `degraded` when the server does not take the search attributes
 * @throws the reason of the signal; the server's error when the time is over
 */
export async function awaitTemporal(
  server: Server,
  { signal, limit = 60_000 }: { signal?: AbortSignal | undefined; limit?: number | undefined } = {},
): Promise<'ok' | 'degraded'> {
  for (const deadline = Date.now() + limit; ; await sleep(50, undefined, { signal })) {
    // One that has failed to connect once never tries it again.
    const connection = createLazyConnection({ port: 0, variables: {}, ...server });
    try {
      await connection.withDeadline(Date.now() + 2_000, () => connection.ensureConnected());
      return await ensureNamespace(connection, server);
    } catch (error) {
      signal?.throwIfAborted();
      if (Date.now() > deadline) throw error;
    } finally {
      await connection.close();
    }
  }
}

/**
 * Prepares a Temporal server that the operator runs.
 * @param options.say receives one line, and another when the server offers no search for workflows
 * @returns its address, host:port
 * @throws LocalStackError with one line when the server does not answer, or refuses to create the missing namespace
 */
export async function useExternalTemporal(
  server: Server,
  { say, ...waiting }: { say: (line: string) => void; signal: AbortSignal; limit?: number | undefined },
): Promise<string> {
  const { address, namespace } = server;
  say(`Temporal: ${address}, from TEMPORAL_ADDRESS; nothing is started.`);
  try {
    if ((await awaitTemporal(server, { limit: 15_000, ...waiting })) === 'degraded')
      say(
        `Temporal: ${address} does not take our search attributes; workflows cannot be searched for by them.`,
      );
    return address;
  } catch (error) {
    waiting.signal.throwIfAborted();
    const { message = String(error), details } = error as { message?: string; details?: string };
    throw new LocalStackError(
      `Temporal at ${address} cannot be used with the namespace ${namespace} (${(details || message).split('\n')[0]}): start it, or unset TEMPORAL_ADDRESS to run one here.`,
      { cause: error },
    );
  }
}
