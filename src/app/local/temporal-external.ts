// Prepares a Temporal server that the operator runs: creates the namespace and search attributes of a local stack.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Config } from '../../platform/config.ts';
import { createLazyConnection } from '../../platform/temporal/client.ts';
import { ensureNamespace } from '../../platform/temporal/namespace.ts';
import { LocalStackError } from './local-stack-error.ts';

/**
 * Creates the namespace and its search attributes where they are missing.
 * @param options.temporal `address` is set
 * @param options.say receives one line when the server offers no search for workflows
 * @param options.signal aborts the wait
 * @param options.patience milliseconds to go on trying while the server does not answer
 * @returns its address, host:port
 * @throws LocalStackError with one line when the server does not answer, or refuses to create the missing namespace
 */
export async function useExternalTemporal(options: {
  temporal: Config['temporal'];
  say: (line: string) => void;
  signal: AbortSignal;
  patience?: number | undefined;
}): Promise<string> {
  const { temporal, say, signal, patience = 15_000 } = options;
  const address = String(temporal.address);
  say(`Temporal: ${address}, from TEMPORAL_ADDRESS; nothing is started.`);
  const connection = createLazyConnection(temporal);
  try {
    for (const deadline = Date.now() + patience; ; await sleep(500, undefined, { signal })) {
      try {
        await connection.withDeadline(Date.now() + 2_000, () => connection.ensureConnected());
        const attributes = await ensureNamespace(connection, temporal);
        if (attributes === 'degraded')
          say(
            `Temporal: ${address} does not take our search attributes; workflows cannot be searched for by them.`,
          );
        return address;
      } catch (error) {
        if (Date.now() > deadline) throw unusable(temporal, error);
      }
    }
  } finally {
    await connection.close();
  }
}

function unusable({ address, namespace }: Config['temporal'], cause: unknown): LocalStackError {
  const { message = String(cause), details } = cause as { message?: string; details?: string };
  const [why] = (details || message).split('\n');
  return new LocalStackError(
    `Temporal at ${address} cannot be used with the namespace ${namespace} (${why}): start it, or unset TEMPORAL_ADDRESS to run one here.`,
    { cause },
  );
}
