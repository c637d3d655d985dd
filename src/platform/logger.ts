// Makes the logger. Further fields of an error are not logged, because drivers store statements and values in them.
import { createRequire } from 'node:module';
import pino, { type DestinationStream, type Logger } from 'pino';
import type Pretty from 'pino-pretty';
import type { Config } from './config.ts';

const require = createRequire(import.meta.url);

type LoggedError = { type: string; message: string; code?: string; stack?: string; cause?: LoggedError };

const DEEPEST_CAUSE = 5;

/** The most bytes of lines that wait until the output can be written again. */
const MOST_UNWRITTEN = 1_048_576;

/**
 * Makes a pino logger on standard output.
 * @param config `logLevel`, and `logFormat` (`json`, or `pretty` for a terminal)
 * @param destination another output
 */
export function createLogger(
  config: Pick<Config, 'logLevel' | 'logFormat'>,
  destination: DestinationStream = process.stdout,
): Logger {
  const options = {
    level: config.logLevel,
    base: null,
    timestamp: pino.stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    serializers: { err: (error: unknown) => describeError(error) },
    redact: { paths: ['authorization', '*.authorization', 'token', '*.token', 'secret', '*.secret'] },
  };
  if (config.logFormat === 'json')
    return pino(options, destination === process.stdout ? openStandardOutput() : destination);
  // Loaded for a terminal alone: a service writes JSON.
  const pretty = require('pino-pretty') as typeof Pretty;
  return pino(
    options,
    pretty({ destination, sync: true, ignore: 'pid,hostname', translateTime: 'HH:MM:ss.l' }),
  );
}

function openStandardOutput(): DestinationStream {
  const output = pino.destination({ fd: 1, sync: true, maxLength: MOST_UNWRITTEN });
  // A full disk costs lines of the log. Without a listener it would end the process.
  output.on('error', () => undefined);
  return output;
}

/** The parts of an error that may be logged: type, message, code, stack, and those of its causes. */
function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { type: typeof error, message: String(error) };
  const { code, cause } = error as Error & { code?: unknown };
  // Sequelize stores the error of pg in `original`.
  const below = cause ?? (error as { original?: unknown }).original;
  return {
    type: error.name,
    message: error.message,
    ...(typeof code === 'string' || typeof code === 'number' ? { code: String(code) } : {}),
    ...(error.stack === undefined ? {} : { stack: error.stack }),
    ...(below === undefined || depth >= DEEPEST_CAUSE ? {} : { cause: describeError(below, depth + 1) }),
  };
}
