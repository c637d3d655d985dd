// The two kinds of transaction: on Sequelize's pool for management, on the plain pool for the hot rooms. A use case uses one or the other.
import type { Pool, PoolClient } from 'pg';
import { QueryTypes, type Sequelize, type Transaction as SequelizeTransaction } from 'sequelize';
import { checkOut } from './client.ts';
import { isOutdatedPlan, isUnanswered, translateDatabaseError } from './errors.ts';
import type { StatementNames } from './statement-names.ts';

export type Rows<Row> = { rows: Row[]; rowCount: number };

/** Runs one parameterised statement (`$1`, `$2` …). */
export type Queryable = {
  query<Row extends object>(text: string, values?: readonly unknown[]): Promise<Rows<Row>>;
};

/** An open transaction. Actions given to `afterCommit` run once it has committed, and never when it has not. */
export type Unit = Queryable & { afterCommit(action: () => void): void };

/** An open transaction that Sequelize's models can join: `{ transaction: tx.sequelize }`. */
export type Transaction = Unit & { readonly sequelize: SequelizeTransaction };

/** The plain pool with the names of its statements. */
export type HotPool = { readonly pool: Pool; readonly names: StatementNames };

/** One statement on the pool, committed by itself. Throws ServiceError `temporarily_unavailable` when the database is down. */
export async function queryPool<Row extends object>(
  { pool, names }: HotPool,
  text: string,
  values: readonly unknown[] = [],
): Promise<Rows<Row>> {
  try {
    return await run<Row>(pool, names, text, values);
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

/** Runs `work` between BEGIN and COMMIT on one client of the plain pool; rolls back when it throws. */
export async function runHot<T>({ pool, names }: HotPool, work: (unit: Unit) => Promise<T>): Promise<T> {
  const { client, giveBack } = await checkOut(pool).catch((error: unknown) => {
    throw translateDatabaseError(error);
  });
  const actions: (() => void)[] = [];
  let isSound = true;
  try {
    await client.query('BEGIN');
    const result = await work(unitOf(client, names, actions));
    await client.query('COMMIT');
    for (const action of actions) action();
    return result;
  } catch (error) {
    // Behind a statement without an answer a ROLLBACK would only wait as long again.
    isSound =
      !isUnanswered(error) &&
      (await client.query('ROLLBACK').then(
        () => true,
        () => false,
      ));
    throw translateDatabaseError(error);
  } finally {
    // A client whose ROLLBACK failed is in an unknown state.
    giveBack(isSound);
  }
}

/** Runs `work` in a Sequelize transaction, or inside `joined` when the request has one already. */
export async function runTransaction<T>(
  sequelize: Sequelize,
  joined: Transaction | undefined,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  if (joined !== undefined) return work(joined);
  const actions: (() => void)[] = [];
  let result: T;
  try {
    result = await sequelize.transaction((transaction) =>
      work(transactionOf(sequelize, transaction, actions)),
    );
  } catch (error) {
    throw translateDatabaseError(error);
  }
  // Sequelize's own hook would also run them when the COMMIT failed.
  for (const action of actions) action();
  return result;
}

function unitOf(client: PoolClient, names: StatementNames, actions: (() => void)[]): Unit {
  return {
    query: <Row extends object>(text: string, values: readonly unknown[] = []) =>
      run<Row>(client, names, text, values),
    afterCommit: (action) => void actions.push(action),
  };
}

/** A statement without values is sent as it is: it may be several, which no prepared statement can be. */
async function run<Row extends object>(
  connection: Pool | PoolClient,
  names: StatementNames,
  text: string,
  values: readonly unknown[],
): Promise<Rows<Row>> {
  const name = values.length === 0 ? undefined : names.nameOf(text);
  try {
    const result =
      name === undefined
        ? await connection.query<Row>(text, [...values])
        : await connection.query<Row>({ name, text, values: [...values] });
    return { rows: result.rows, rowCount: result.rowCount ?? 0 };
  } catch (error) {
    if (isOutdatedPlan(error)) names.renew(text);
    throw error;
  }
}

function transactionOf(
  sequelize: Sequelize,
  transaction: SequelizeTransaction,
  actions: (() => void)[],
): Transaction {
  return {
    sequelize: transaction,
    query: async <Row extends object>(text: string, values: readonly unknown[] = []) => {
      // RAW gives the rows, then either the driver's result or, for INSERT and UPDATE, the count of changed rows.
      const [rows, result] = await sequelize.query(text, {
        bind: [...values],
        transaction,
        type: QueryTypes.RAW,
      });
      const changed =
        typeof result === 'number' ? result : (result as { rowCount?: number } | undefined)?.rowCount;
      return { rows: (Array.isArray(rows) ? rows : []) as Row[], rowCount: changed ?? 0 };
    },
    afterCommit: (action) => void actions.push(action),
  };
}
