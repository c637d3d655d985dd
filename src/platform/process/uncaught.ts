// Ends a process after an error that was not caught: one line of the log, and exit code 1.
import type { Logger } from 'pino';

/**
 * Ends this process after an uncaught exception or an unhandled rejection: its state is unknown then.
 * @param logger the role's
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
