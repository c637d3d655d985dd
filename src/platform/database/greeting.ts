// What a process asks on each new connection, in one statement, before it is used: the time, and whether the server
// takes writes. The driver has no `target_session_attrs=read-write`.
// docs/operations/failover.md
import { type Asked, type DatabaseClock, TIME } from './database-clock.ts';
import { READ_ONLY } from './errors.ts';

const GREETING = `SELECT ${TIME} AS time, current_setting('transaction_read_only') = 'on' AS "isReadOnly"`;

/**
 * Greets a server. A standby is refused for reads too, because what it has may be old: an ended token would go on.
 * @throws Error with the SQLSTATE of a refused write when the server takes none
 */
export async function greet(
  connection: Asked,
  clock: Pick<DatabaseClock, 'observe' | 'monotonic'>,
): Promise<void> {
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
