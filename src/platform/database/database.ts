// Opens the two pools (Sequelize for models and management, pg for the hot rooms). Every connection gets the same time limits.
import pg from 'pg';
import { Sequelize } from 'sequelize';
import { isUnanswered } from './errors.ts';
import { createStatementNames } from './statement-names.ts';
import {
  type Queryable,
  queryPool,
  runHot,
  runTransaction,
  type Transaction,
  type Unit,
} from './transaction.ts';

const { Pool, types } = pg;

// bigint counts stay far below 2^53; Sequelize would otherwise hand them out as text.
types.setTypeParser(types.builtins.INT8, Number);

/** Texts that get a name; the service has far fewer that are not built anew each time. */
const NAMED_STATEMENTS = 500;

/**
 * Milliseconds: a statement, a lock, an idle open transaction (all three held by the server), the answer to a statement (held by
 * us, for a server that does nothing at all), a connection attempt.
 */
const LIMITS = {
  statement: 5_000,
  lock: 2_000,
  idleInTransaction: 10_000,
  answer: 6_000,
  connect: 2_000,
} as const;

export type DatabaseOptions = {
  readonly url: string;
  /** Connections of the hot pool; management gets half as many. */
  readonly pool: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Told of connections that broke while idle; the pools replace them. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** Milliseconds, others than the usual ones. */
  readonly limits?: Partial<Record<keyof typeof LIMITS, number>> | undefined;
};

/**
 * Opens (lazily) the database.
 * @returns `query` for one statement, `hot` and `transaction` for several, `sequelize` for models, `close`
 */
export function createDatabase({ url, pool: size, applicationName, onError, limits }: DatabaseOptions) {
  const { statement, lock, idleInTransaction, answer, connect } = { ...LIMITS, ...limits };
  const session = {
    application_name: applicationName,
    statement_timeout: statement,
    lock_timeout: lock,
    idle_in_transaction_session_timeout: idleInTransaction,
    query_timeout: answer,
    connectionTimeoutMillis: connect,
    keepAlive: true,
  };
  const pool = new Pool({ connectionString: url, max: size, ...session });
  pool.on('error', (error) => onError?.(error));
  const management = Math.max(2, Math.ceil(size / 2));
  const sequelize = new Sequelize(url, {
    dialect: 'postgres',
    logging: false,
    pool: { max: management, min: 0, acquire: connect, idle: 30_000 },
    dialectOptions: session,
    define: { underscored: true, timestamps: false, freezeTableName: true },
  });
  sequelize.addHook('afterConnect', (connection) => endWhenUnanswered(connection as pg.Client));
  const hotPool = { pool, names: createStatementNames({ limit: NAMED_STATEMENTS }) };
  return {
    pool,
    sequelize,
    /** How much of the pools is in use at this moment. */
    pools: {
      hot: {
        max: size,
        use: () => ({ size: pool.totalCount, idle: pool.idleCount, waiting: pool.waitingCount }),
      },
      management: { max: management, use: () => managementUse(sequelize) },
    },
    query: <Row extends object>(text: string, values?: readonly unknown[]) =>
      queryPool<Row>(hotPool, text, values),
    hot: <T>(work: (unit: Unit) => Promise<T>) => runHot(hotPool, work),
    transaction: <T>(
      context: { transaction?: Transaction | undefined },
      work: (transaction: Transaction) => Promise<T>,
    ) => runTransaction(sequelize, context.transaction, work),
    close: async () => {
      await Promise.allSettled([pool.end(), sequelize.close()]);
    },
  } satisfies Queryable & Record<string, unknown>;
}

export type Database = ReturnType<typeof createDatabase>;

/** Sequelize's own types leave its pool out. */
function managementUse(sequelize: Sequelize): { size: number; idle: number; waiting: number } {
  const { pool } = sequelize.connectionManager as unknown as {
    pool: { size: number; available: number; waiting: number };
  };
  return { size: pool.size, idle: pool.available, waiting: pool.waiting };
}

/** Connections besides the pools: two that notify and one that listens. */
const OTHERS = 3;

/** Connections that one process may open; a local stack sizes its Postgres by it. */
export function connectionBudget(pool: number): number {
  return pool + Math.max(2, Math.ceil(pool / 2)) + OTHERS;
}

type Callback = (error: Error | null, result?: unknown) => void;

/**
 * Ends a connection of Sequelize with its first statement that had no answer in time: the ROLLBACK that Sequelize sends next then
 * fails at once, instead of waiting for an answer as long again.
 */
function endWhenUnanswered(connection: pg.Client): void {
  const query: (...values: unknown[]) => unknown = connection.query.bind(connection);
  const watched = (...values: unknown[]) => {
    const callback = values.at(-1);
    // Sequelize gives one for each statement of a request.
    if (typeof callback !== 'function') return query(...values);
    const answered: Callback = (error, result) => {
      if (isUnanswered(error)) void connection.end().catch(() => undefined);
      (callback as Callback)(error, result);
    };
    return query(...values.slice(0, -1), answered);
  };
  connection.query = watched as typeof connection.query;
}
