// Transactions in which handwritten statements and Sequelize's models run on the same client of the pool.
import type { Pool, PoolClient } from 'pg';
import type { Sequelize, Transaction as SequelizeTransaction } from 'sequelize';
import { isOutdatedPlan, isUnanswered, translateDatabaseError } from './errors.ts';
import { sendForMembers } from './member-query.ts';
import type { Model, Models, ModelsOf } from './model.ts';
import { loadSequelize } from './sequelize.ts';
import type { StatementNames } from './statement-names.ts';
import type { Table } from './table.ts';
import type { Turns } from './turns.ts';

export type Rows<Row> = { rows: Row[]; rowCount: number };

export type Queryable = {
  /** @param members the column `tenant_id` is the member `tenantId` of a row, as statements.ts asks for */
  query<Row extends object>(
    text: string,
    values?: readonly unknown[],
    members?: 'camelCase',
  ): Promise<Rows<Row>>;
};

/** An open transaction. Actions of `afterCommit` run only after its commit. */
export type Transaction = Queryable & Models & { afterCommit(action: () => void): void };

/** The parts that transactions need: the pool, the names of statements, and the limit of concurrent transactions. */
export type Connections = {
  readonly pool: Pool;
  readonly openSequelize: () => Sequelize;
  readonly models: ModelsOf;
  readonly names: StatementNames;
  readonly turns: Turns;
};

/**
 * Runs one statement on the pool, with its own commit.
 * @throws ServiceError `temporarily_unavailable` when the database is down
 */
export async function queryPool<Row extends object>(
  { pool, names }: Pick<Connections, 'pool' | 'names'>,
  text: string,
  values: readonly unknown[] = [],
  members?: 'camelCase',
): Promise<Rows<Row>> {
  try {
    return await run<Row>({ connection: pool, names, members }, text, values);
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

/** The transaction that a request already has, and the tenant to which a new one counts. */
export type TransactionContext = {
  readonly transaction?: Transaction | undefined;
  readonly tenant?: { readonly id: string } | undefined;
};

/**
 * Runs `work` between BEGIN and COMMIT on one client, or inside the transaction that the request already has.
 */
export async function runTransaction<T>(
  connections: Connections,
  { transaction: joined, tenant }: TransactionContext,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  if (joined !== undefined) return work(joined);
  try {
    return await connections.turns.run(tenant?.id, () => begin(connections, work));
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

async function begin<T>(
  connections: Connections,
  work: (transaction: Transaction) => Promise<T>,
): Promise<T> {
  const client = await connections.pool.connect();
  const actions: (() => void)[] = [];
  let isSound = true;
  try {
    await client.query('BEGIN');
    const result = await work(transactionOn(client, connections, actions));
    await client.query('COMMIT');
    for (const action of actions) action();
    return result;
  } catch (error) {
    // After a statement without an answer no ROLLBACK is sent, because it would wait as long again.
    isSound =
      !isUnanswered(error) &&
      (await client.query('ROLLBACK').then(
        () => true,
        () => false,
      ));
    throw error;
  } finally {
    // The state of a client is unknown when its ROLLBACK failed.
    client.release(!isSound);
  }
}

function transactionOn(
  client: PoolClient,
  { openSequelize, models, names }: Omit<Connections, 'pool' | 'turns'>,
  actions: (() => void)[],
): Transaction {
  let joinable: SequelizeTransaction | undefined;
  return {
    query: <Row extends object>(text: string, values: readonly unknown[] = [], members?: 'camelCase') =>
      run<Row>({ connection: client, names, members }, text, values),
    afterCommit: (action) => void actions.push(action),
    model: <T extends Table>(table: T): Model<T> => {
      // Sequelize runs a model's statements on the `connection` of this object, and never ends its transaction.
      joinable ??= joinableOn(client, openSequelize());
      return models(table, joinable);
    },
  };
}

function joinableOn(connection: PoolClient, sequelize: Sequelize): SequelizeTransaction {
  const { Transaction } = loadSequelize();
  return Object.assign(new Transaction(sequelize, {}), { connection });
}

type Sender = Pick<Connections, 'names'> & {
  readonly connection: Pool | PoolClient;
  readonly members: 'camelCase' | undefined;
};

/** A text without values is sent unprepared, because it may contain several statements. */
async function run<Row extends object>(
  { connection, names, members }: Sender,
  text: string,
  values: readonly unknown[],
): Promise<Rows<Row>> {
  const name = values.length === 0 ? undefined : names.nameOf(text);
  const config = { ...(name && { name }), text, values: [...values] };
  try {
    const { rows, rowCount } = await (members === undefined
      ? connection.query(config)
      : sendForMembers(connection, config));
    return { rows, rowCount: rowCount ?? 0 };
  } catch (error) {
    if (isOutdatedPlan(error)) names.renew(text);
    throw error;
  }
}
