// Finds out whether a pooler stands between this process and Postgres that gives each statement another session, or
// drops the settings of a connection.
import { sqlState, translateDatabaseError } from './errors.ts';

/** A connection as the pool of this process lends it. */
export type LentConnection = {
  query<Row extends object>(text: string, values?: unknown[]): Promise<{ rows: Row[] }>;
  release(): void;
};

const ROUNDS = 3;

const BACKEND = 'SELECT pg_backend_pid() AS pid';
const SETTINGS = 'SELECT name, setting FROM pg_settings WHERE name = ANY ($1)';

const DIRECT = 'connect to Postgres itself (docs/deployment.md, "Poolers")';

/**
 * Compares the sessions and settings that two connections have with those that they must have.
 * @param connect lends a connection
 * @param expected the settings that each connection asked for, in the units of pg_settings
 * @returns one line with the fault and its mend; undefined without a fault
 * @throws ServiceError `temporarily_unavailable` when the database does not answer
 */
export async function findPoolerFault(
  connect: () => Promise<LentConnection>,
  expected: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const lent: LentConnection[] = [];
  try {
    const one = await connect();
    lent.push(one);
    const other = await connect();
    lent.push(other);
    if (await haveNoSession(one, other))
      return `leads to a pooler in transaction or statement mode, in which prepared statements, LISTEN and advisory locks break: set it to session mode, or ${DIRECT}`;
    const dropped = await findDroppedSetting(one, expected);
    return (
      dropped &&
      `leads to a pooler that drops the settings of a connection (${dropped}): give the settings to the role, or ${DIRECT}`
    );
  } catch (error) {
    // Class 08 is otherwise a lost connection, which comes back.
    if (sqlState(error) === '08P01' && /startup parameter/.test((error as Error).message))
      return `leads to a pooler that refuses the settings of a connection (${(error as Error).message}): let it ignore them and give them to the role, or ${DIRECT}`;
    throw translateDatabaseError(error);
  } finally {
    for (const connection of lent) connection.release();
  }
}

/**
 * True when one connection has several backends, or both have the same one. A pooler gives the backend that was free
 * last or first: the second statement of one connection finds the latter, the statement of the other the former.
 */
async function haveNoSession(one: LentConnection, other: LentConnection): Promise<boolean> {
  const backendOf = async (connection: LentConnection) =>
    (await connection.query<{ pid: number }>(BACKEND)).rows[0]?.pid;
  const own = await backendOf(one);
  for (let round = 0; round < ROUNDS; round += 1) {
    if ((await backendOf(one)) !== own || (await backendOf(other)) === own) return true;
  }
  return false;
}

async function findDroppedSetting(
  connection: LentConnection,
  expected: Readonly<Record<string, string>>,
): Promise<string | undefined> {
  const names = Object.keys(expected);
  const { rows } = await connection.query<{ name: string; setting: string }>(SETTINGS, [names]);
  const found = new Map(rows.map(({ name, setting }) => [name, setting]));
  const dropped = names.find((name) => found.get(name) !== expected[name]);
  return dropped && `${dropped} is ${found.get(dropped)} instead of ${expected[dropped]}`;
}
