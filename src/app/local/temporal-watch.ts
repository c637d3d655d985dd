// Ends a Temporal server that runs and no longer answers, so that it is started again. The development server can stay
// in that state for ever after the machine had no processor time for it.
import { Connection, isGrpcServiceError } from '@temporalio/client';
import type { RunningPart } from './kept-part.ts';
import { LocalStackError } from './local-stack-error.ts';

const NOT_FOUND = 5;

/** A minute: milliseconds between two probes, and the failed probes in a row after which the server is ended. */
const WATCH = { interval: 5_000, failures: 12 } as const;

/** `probe` resolves with whether the server has answered; it never rejects. */
export type TemporalProbe = { probe(): Promise<boolean>; close(): Promise<void> };

/** Asks the server for a workflow that does not exist, because the part that answers is the one that fails. */
export function createTemporalProbe({
  address,
  namespace,
}: {
  address: string;
  namespace: string;
}): TemporalProbe {
  const connection = Connection.lazy({ address, connectTimeout: 2_000 });
  const execution = { workflowId: 'probe-of-the-local-stack' };
  return {
    probe: async () => {
      try {
        await connection.withDeadline(Date.now() + WATCH.interval, () =>
          connection.workflowService.describeWorkflowExecution({ namespace, execution }),
        );
        return true;
      } catch (error) {
        return isGrpcServiceError(error) && error.code === NOT_FOUND;
      }
    },
    close: () => connection.close(),
  };
}

/**
 * Probes a running server until it ends.
 * @returns the server; `exited` names the reason when it was ended because it did not answer
 */
export function endWhenSilent(
  server: RunningPart,
  { probe, close }: TemporalProbe,
  { interval, failures }: { readonly interval: number; readonly failures: number } = WATCH,
): RunningPart {
  let timer: NodeJS.Timeout | undefined;
  let failed = 0;
  let reason: LocalStackError | null = null;
  let over = false;

  const look = async (): Promise<void> => {
    failed = (await probe()) ? 0 : failed + 1;
    if (over) return;
    if (failed < failures) {
      timer = setTimeout(look, interval);
      return;
    }
    reason = new LocalStackError(`Temporal (process ${server.pid}) has answered nothing for a minute`);
    void server.stop();
  };

  const end = (): void => {
    if (over) return;
    over = true;
    clearTimeout(timer);
    void close().catch(() => undefined);
  };

  timer = setTimeout(look, interval);
  return {
    pid: server.pid,
    exited: server.exited.then((exit) => {
      end();
      return { ...exit, reason: exit.reason ?? reason };
    }),
    stop: () => {
      end();
      return server.stop();
    },
  };
}
