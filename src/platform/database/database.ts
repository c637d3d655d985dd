// Opens the pool of connections, which handwritten statements and Sequelize's models share. All connections have the
// same time limits.
// docs/decisions/0003-one-pool.md
import pg, { type Pool, type PoolClient } from 'pg';
import type { Sequelize } from 'sequelize';
import { endConnections, newPool } from './client.ts';
import { type Asked, createDatabaseClock, type DatabaseClock, TIME } from './database-clock.ts';
import { READ_ONLY } from './errors.ts';
import { createModels, type Model } from './model.ts';
import { findPoolerFault } from './pooler.client.ts';
import { loadSequelize } from './sequelize.ts';
import { SESSION, writeOptions } from './session.ts';
import { createStatementNames } from './statement-names.ts';
import type { Table } from './table.ts';
import {
  type Queryable,
  queryPool,
  runTransaction,
  type Transaction,
  type TransactionContext,
} from './transaction.ts';
import { createTurns } from './turns.ts';

const { types } = pg;

/** What a process asks on each new connection. The driver has no `target_session_attrs=read-write`. */
const GREETING = `SELECT ${TIME} AS time, current_setting('transaction_read_only') = 'on' AS "isReadOnly"`;

// Sequelize returns bigint as text by default. The counts of this service stay far below 2^53.
types.setTypeParser(types.builtins.INT8, Number);

/**
 * The planner's settings, so that no plan depends on statistics: of a day that has just begun there are none. A named
 * statement is planned once for each connection, without its values, because planning opens every partition. A
 * statement of the service reads few rows, each by an index.
 */
const PLANNER = {
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
};

/** The most named statements. The service has far fewer statements with a constant text. */
const NAMED_STATEMENTS = 500;

/**
 * Milliseconds. The server enforces `statement`, `lock` and `idleInTransaction`. This process enforces `answer` (for a
 * server that does not react), `connect` and `turn` (the wait of a transaction for a connection).
 */
export const DATABASE_LIMITS = {
  statement: 5_000,
  lock: 2_000,
  idleInTransaction: 10_000,
  answer: 6_000,
  connect: 2_000,
  turn: 10_000,
} as const;

export type DatabaseLimits = Partial<Record<keyof typeof DATABASE_LIMITS, number>>;

export type DatabaseOptions = {
  readonly url: string;
  /** The most connections; transactions may use half of them, and those of one tenant all but one of that half. */
  readonly pool: number;
  readonly applicationName: string;
  /** Receives the error of an idle connection that broke; the pool replaces the connection. */
  readonly onError?: ((error: Error) => void) | undefined;
  /** Milliseconds; replace the default limits. */
  readonly limits?: DatabaseLimits | undefined;
};

/**
 * Opens the database; the first statement connects.
 * @returns `query` for one statement, `model` for one call of a model, `transaction` for several of both, `close`
 */
export function createDatabase({ url, pool: size, applicationName, onError, limits }: DatabaseOptions) {
  const { statement, lock, idleInTransaction, answer, connect, turn } = { ...DATABASE_LIMITS, ...limits };
  const timeouts = {
    statement_timeout: statement,
    lock_timeout: lock,
    idle_in_transaction_session_timeout: idleInTransaction,
  };
  const clock = createDatabaseClock();
  const pool = newPool(
    {
      connectionString: url,
      max: size,
      application_name: applicationName,
      ...timeouts,
      query_timeout: answer,
      connectionTimeoutMillis: connect,
      keepAlive: true,
      // So no statement is answered before the time is known, or by a server that may be behind.
      onConnect: (client) => greet(client, clock),
      options: writeOptions(PLANNER),
    },
    onError,
  );
  let opened: Sequelize | undefined;
  const openSequelize = () => {
    opened ??= openSequelizeOn(pool);
    return opened;
  };
  const models = createModels(openSequelize);
  const names = createStatementNames({ limit: NAMED_STATEMENTS });
  // A transaction may wait for locks or for a slow request, so half of the pool is reserved for single statements.
  const limit = Math.max(1, Math.floor(size / 2));
  // One turn is left to the other tenants.
  const turns = createTurns({ limit, share: () => Math.max(1, limit - 1), patience: turn });
  const connections = { pool, openSequelize, models, names, turns };
  const transaction = <T>(context: TransactionContext, work: (transaction: Transaction) => Promise<T>) =>
    runTransaction(connections, context, work);
  return {
    pool,
    /** The database's clock, as this process knows it. */
    clock,
    openSequelize,
    /** The current use of the pool; `waiting` by kind. */
    poolUse: () => ({
      max: size,
      size: pool.totalCount,
      idle: pool.idleCount,
      waiting: { connection: pool.waitingCount, transaction: turns.waiting() },
    }),
    query: <Row extends object>(text: string, values?: readonly unknown[], members?: 'camelCase') =>
      queryPool<Row>(connections, text, values, members),
    model: <T extends Table>(table: T): Model<T> => models(table, null),
    transaction,
    /** Finds what a pooler between this process and Postgres takes from its connections (pooler.client.ts). */
    findPoolerFault: () => {
      const limits = Object.entries(timeouts).map(([name, milliseconds]) => [name, String(milliseconds)]);
      return findPoolerFault(() => pool.connect(), {
        ...Object.fromEntries(limits),
        ...PLANNER,
        ...SESSION,
      });
    },
    close: () => endConnections(pool),
  } satisfies Queryable & Record<string, unknown>;
}

export type Database = ReturnType<typeof createDatabase>;

function openSequelizeOn(pool: Pool): Sequelize {
  const { Sequelize } = loadSequelize();
  const sequelize = new Sequelize({
    dialect: 'postgres',
    logging: false,
    define: { underscored: true, timestamps: false, freezeTableName: true },
  });
  sequelize.connectionManager.getConnection = () => pool.connect();
  // Sequelize sets `_invalid` on a client that did not answer.
  sequelize.connectionManager.releaseConnection = (client: PoolClient & { _invalid?: boolean }) =>
    client.release(client._invalid === true);
  sequelize.connectionManager.destroyConnection = async (client: PoolClient) => client.release(true);
  return sequelize;
}

/** Connections outside the pool: two notify, one listens. */
const OTHERS = 3;

/** The most connections of one process. The local stack configures Postgres for this number. */
export function connectionBudget(pool: number): number {
  return pool + OTHERS;
}

/**
 * Greets a server. A standby is refused for reads too, because what it has may be old: an ended token would go on.
 * Source: docs/operations/failover.md.
 * @throws Error with the SQLSTATE of a refused write when the server takes none
 */
async function greet(connection: Asked, clock: Pick<DatabaseClock, 'observe' | 'monotonic'>): Promise<void> {
  const asked = clock.monotonic();
  const { rows } = await connection.query<{ time: number; isReadOnly: boolean }>(GREETING);
  const [answer] = rows;
  if (answer === undefined) throw new Error('the database did not tell its time');
  if (answer.isReadOnly)
    throw Object.assign(new Error('the server takes no writes: it is a standby, or was demoted'), {
      code: READ_ONLY,
    });
  clock.observe(answer.time, asked);
}
