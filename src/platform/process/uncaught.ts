// Ends a process after an uncaught error, with one log line and exit code 1.
import type { Logger } from 'pino';

/**
 * Ends this process after an uncaught exception or an unhandled rejection, because its state is unknown.
 * @param logger of the role
 */
export function exitWhenUncaught(logger: Pick<Logger, 'fatal'>): void {
  process.on('uncaughtException', (error: unknown, origin) => {
    const reason = error instanceof Error ? error.message : String(error);
    logger.fatal(
      { event: 'process.ended', reason, origin, err: error },
      'the process ends: an error was not caught',
    );
    process.exit(1);
  });
}
