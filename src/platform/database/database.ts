// Opens the one pool of connections, which statements by hand and Sequelize's models share. Every connection gets the
// same time limits.
import pg, { type Pool } from 'pg';
import { Sequelize } from 'sequelize';
import { checkOut } from './client.ts';
import { createModels, type Model } from './model.ts';
import { createStatementNames } from './statement-names.ts';
import type { Table } from './table.ts';
import { type Queryable, queryPool, runTransaction, type Transaction } from './transaction.ts';
import { createTurns } from './turns.ts';

const { types } = pg;

// bigint counts stay far below 2^53; by default Sequelize returns them as text.
types.setTypeParser(types.builtins.INT8, Number);

/** The most statements with a name; the service has far fewer that are not built dynamically. */
const NAMED_STATEMENTS = 500;

/**
 * Milliseconds: a statement, a lock, an idle open transaction (the server enforces these three), the answer to a
 * statement (enforced here, for a server that does not react), a connection attempt, the turn of a transaction.
 */
const LIMITS = {
  statement: 5_000,
  lock: 2_000,
  idleInTransaction: 10_000,
  answer: 6_000,
  connect: 2_000,
  turn: 10_000,
} as const;

export type DatabaseOptions = {
  readonly url: string;
  /** The most connections; transactions may hold half of them. */
  readonly pool: number;
  /** Shown in pg_stat_activity. */
  readonly applicationName: string;
  /** Receives the error of a connection that broke while idle; the pool replaces it. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** Milliseconds, in place of the default limits. */
  readonly limits?: Partial<Record<keyof typeof LIMITS, number>> | undefined;
};

/**
 * Opens (lazily) the database.
 * @returns `query` for one statement, `model` for one call of a model, `transaction` for several of both, `close`
 */
export function createDatabase({ url, pool: size, applicationName, onError, limits }: DatabaseOptions) {
  const { statement, lock, idleInTransaction, answer, connect, turn } = { ...LIMITS, ...limits };
  const pool = new pg.Pool({
    connectionString: url,
    max: size,
    application_name: applicationName,
    statement_timeout: statement,
    lock_timeout: lock,
    idle_in_transaction_session_timeout: idleInTransaction,
    query_timeout: answer,
    connectionTimeoutMillis: connect,
    keepAlive: true,
  });
  pool.on('error', (error) => onError?.(error));
  const sequelize = openSequelize(pool);
  const models = createModels(sequelize);
  const names = createStatementNames({ limit: NAMED_STATEMENTS });
  // A transaction may wait for locks or for a slow request: single statements always have the other half of the pool.
  const turns = createTurns({ limit: Math.max(1, Math.floor(size / 2)), patience: turn });
  const connections = { pool, sequelize, models, names, turns };
  const transaction = <T>(
    context: { transaction?: Transaction | undefined },
    work: (transaction: Transaction) => Promise<T>,
  ) => runTransaction(connections, context.transaction, work);
  return {
    pool,
    sequelize,
    /** The use of the pool at this moment; `waiting` by kind. */
    poolUse: () => ({
      max: size,
      size: pool.totalCount,
      idle: pool.idleCount,
      waiting: { connection: pool.waitingCount, transaction: turns.waiting() },
    }),
    query: <Row extends object>(text: string, values?: readonly unknown[]) =>
      queryPool<Row>(connections, text, values),
    model: <T extends Table>(table: T): Model<T> => models(table, null),
    transaction,
    close: async () => {
      await pool.end().catch(() => undefined);
    },
  } satisfies Queryable & Record<string, unknown>;
}

export type Database = ReturnType<typeof createDatabase>;

/** Opens a Sequelize whose statements run on clients of this pool. */
function openSequelize(pool: Pool): Sequelize {
  const sequelize = new Sequelize({
    dialect: 'postgres',
    logging: false,
    define: { underscored: true, timestamps: false, freezeTableName: true },
  });
  const taken = new WeakMap<object, (isSound: boolean) => void>();
  sequelize.connectionManager.getConnection = async () => {
    const { client, giveBack } = await checkOut(pool);
    taken.set(client, giveBack);
    return client;
  };
  // Sequelize marks a client that gave it no answer.
  sequelize.connectionManager.releaseConnection = (client: { _invalid?: boolean }) =>
    taken.get(client)?.(client._invalid !== true);
  sequelize.connectionManager.destroyConnection = async (client) => taken.get(client)?.(false);
  return sequelize;
}

/** Connections besides the pool: two that notify and one that listens. */
const OTHERS = 3;

/** Connections that one process may open; a local stack sizes its Postgres by it. */
export function connectionBudget(pool: number): number {
  return pool + OTHERS;
}
