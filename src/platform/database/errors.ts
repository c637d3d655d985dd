// Recognizes errors of which the database is the cause, and turns them into 503. The stores handle constraint
// violations.
import { ServiceError, tryAgain } from '../errors/service-error.ts';

/**
 * SQLSTATE classes and codes of temporary failures: connection, resources, shutdown, time limits, serialisation,
 * read-only standby.
 */
const NOT_NOW = /^(08|53|57P0|58)|^(57014|55P03|25P03|40001|40P01|25006)$/;

/** The SQLSTATE of a write at a server that takes none: a standby, or a primary that was demoted. */
export const READ_ONLY = '25006';

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
  /Connection terminated|^timeout expired$|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout|pool after calling end|not queryable/i;

/** The names of Sequelize's ConnectionError and of what is derived from it. */
const CONNECTION = /^Sequelize(Connection|HostNot|InvalidConnection|AccessDenied)/;

/** @returns the SQLSTATE of an error of the driver or of Sequelize, if it has one */
export function sqlState(error: unknown): string | undefined {
  const { code } = sourceOf(error);
  return typeof code === 'string' && /^[0-9A-Z]{5}$/.test(code) ? code : undefined;
}

/** @returns the name of the violated constraint for a unique violation (23505), else undefined */
export function violatedUnique(error: unknown): string | undefined {
  if (sqlState(error) !== '23505') return undefined;
  const { constraint } = sourceOf(error);
  return typeof constraint === 'string' ? constraint : '';
}

/** Sequelize stores the error of the driver in `original`. */
const sourceOf = (error: unknown): Readonly<Record<string, unknown>> =>
  (error as { original?: Record<string, unknown> } | null)?.original ?? Object(error);

/**
 * True when a named statement has an outdated plan, because a migration changed its columns. The statement succeeds
 * under a new name. Messages are in the language of the server.
 */
export function isOutdatedPlan(error: unknown): boolean {
  return sqlState(error) === '0A000' && sourceOf(error).routine === 'RevalidateCachedQuery';
}

/** True when a statement got no answer within the driver's `query_timeout`. Its connection must be closed. */
export function isUnanswered(error: unknown): boolean {
  const source = error instanceof ServiceError ? error.cause : error;
  return source instanceof Error && source.message === 'Query read timeout';
}

/** True for a translated failure without any answer of a database: no connection, or no answer on it. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof ServiceError &&
    error.code === 'temporarily_unavailable' &&
    sqlState(error.cause) === undefined
  );
}

/**
 * SQLSTATE classes of errors that the values of the statement cause: data, integrity, and (54) a value too large for an
 * index.
 */
const DATA = /^(22|23|54)/;

/**
 * Deadlock, serialisation failure, outdated plan, connection exceptions, and a server ended by an administrator or a
 * crash.
 */
const AGAIN = /^(40P01|40001|0A000|08...|57P0[12])$/;

const LOST = /^Connection terminated( unexpectedly)?$/;

/**
 * How a caller should react to a failed transaction. `again`: repeat it; it was rolled back, or its connection was lost
 * and its end is unknown, so repetition must be safe. `data`: find the faulty row. `final`: give up.
 */
export function classifyFailure(error: unknown): 'again' | 'data' | 'final' {
  const source = error instanceof ServiceError ? error.cause : error;
  const { code, message = '' } = (source ?? {}) as { code?: unknown; message?: string };
  if (code === 'ECONNRESET' || code === 'EPIPE' || LOST.test(message)) return 'again';
  const state = sqlState(source) ?? '';
  return DATA.test(state) ? 'data' : AGAIN.test(state) ? 'again' : 'final';
}

/** @returns `temporarily_unavailable` for a database that is down, overloaded or too slow; any other error unchanged */
export function translateDatabaseError(error: unknown): unknown {
  if (error instanceof ServiceError) return error;
  const { code, message } = sourceOf(error);
  const unavailable =
    CONNECTION.test(error instanceof Error ? error.name : '') ||
    NOT_NOW.test(sqlState(error) ?? '') ||
    isOutdatedPlan(error) ||
    (typeof code === 'string' && NOT_NOW_NETWORK.has(code)) ||
    NOT_NOW_TEXT.test(String(message));
  if (!unavailable) return error;
  return tryAgain('The service cannot reach its database. Try again.', error);
}
