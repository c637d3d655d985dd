// Decides whether the database is at fault for an error; such errors become 503. Constraint violations stay for the
// store that owns them.
import { BaseError, ConnectionError, DatabaseError } from 'sequelize';
import { ServiceError } from '../errors/service-error.ts';

/**
 * SQLSTATE classes and codes that mean "not now": connection, resources, shutdown, time-outs, serialisation, read-only
 * standby.
 */
const NOT_NOW = /^(08|53|57P0|58)|^(57014|55P03|25P03|40001|40P01|25006)$/;

const NOT_NOW_NETWORK = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENOENT',
]);

const NOT_NOW_TEXT =
  /Connection terminated|timeout exceeded when (trying to connect|waiting for a turn)|Client has encountered a connection error|Query read timeout|pool after calling end|not queryable/i;

/** The SQLSTATE of a driver's or Sequelize's error, when it has one. */
export function sqlState(error: unknown): string | undefined {
  const source =
    error instanceof DatabaseError || error instanceof BaseError
      ? ((error as { original?: unknown }).original ?? error)
      : error;
  const code = (source as { code?: unknown } | null)?.code;
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** The violated constraint's name for a unique violation (23505), else undefined. */
export function violatedUnique(error: unknown): string | undefined {
  if (sqlState(error) !== '23505') return undefined;
  const source = (error as { original?: unknown }).original ?? error;
  return (source as { constraint?: string }).constraint ?? '';
}

/**
 * Whether a named statement has an outdated plan, because a migration changed its columns. The same statement works
 * under another name.
 */
export function isOutdatedPlan(error: unknown): boolean {
  return sqlState(error) === '0A000' && /cached plan/.test((error as Error).message);
}

/** Whether a statement had no answer within the driver's `query_timeout`: its connection is of no further use. */
export function isUnanswered(error: unknown): boolean {
  const source = error instanceof ServiceError ? error.cause : error;
  return source instanceof Error && source.message === 'Query read timeout';
}

/** Whether a translated failure means that no database answered: no connection, or no answer on it. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof ServiceError &&
    error.code === 'temporarily_unavailable' &&
    sqlState(error.cause) === undefined
  );
}

/**
 * SQLSTATE classes of errors that the statement's own values cause: data, integrity, and (54) a value too large for an
 * index.
 */
const DATA = /^(22|23|54)/;

/**
 * Deadlock, serialisation failure, outdated plan; connection exceptions; a server that an administrator or a crash has
 * ended.
 */
const AGAIN = /^(40P01|40001|0A000|08...|57P0[12])$/;

const LOST = /^Connection terminated( unexpectedly)?$/;

/**
 * How to go on after a failed transaction: `again` (it was rolled back, or its connection was lost and its end is
 * unknown, so it must be safe to repeat), `data` (find the row at fault), or `final` (give up).
 */
export function classifyFailure(error: unknown): 'again' | 'data' | 'final' {
  const source = error instanceof ServiceError ? error.cause : error;
  const { code, message = '' } = (source ?? {}) as { code?: unknown; message?: string };
  if (code === 'ECONNRESET' || code === 'EPIPE' || LOST.test(message)) return 'again';
  const state = sqlState(source) ?? '';
  return DATA.test(state) ? 'data' : AGAIN.test(state) ? 'again' : 'final';
}

/**
 * `temporarily_unavailable` for a database that is down, overloaded or too slow; any other error is returned unchanged.
 */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  const original = (error as { original?: unknown } | null)?.original ?? error;
  const code = (original as { code?: unknown } | null)?.code;
  const message = original instanceof Error ? original.message : '';
  const unavailable =
    error instanceof ConnectionError ||
    NOT_NOW.test(sqlState(error) ?? '') ||
    isOutdatedPlan(error) ||
    (typeof code === 'string' && NOT_NOW_NETWORK.has(code)) ||
    NOT_NOW_TEXT.test(message);
  if (!unavailable) return error;
  return new ServiceError('temporarily_unavailable', {
    detail: 'The service cannot reach its database. Try again.',
    cause: error,
    retryAfterSeconds: 1,
  });
}
