// Deliveries of the past: accepted as ever, then moved to another day, whose partitions are made for them.
import { randomUUID } from 'node:crypto';
import type { RequestContext } from '../../../src/platform/context.ts';
import type { Database } from '../../../src/platform/database/database.ts';
import { RecordService } from '../../../src/webhooks/intake/record.service.ts';

const records = new RecordService({ notifier: { poke: () => undefined } });

/** How a pulse looks to which nobody listens. */
export const pulse = { heartbeat: () => undefined, signal: new AbortController().signal };

/** The UTC day so many days ago, by the database's clock. */
export async function dayOf(database: Database, daysAgo: number): Promise<string> {
  const { rows } = await database.query<{ day: string }>(
    `SELECT ((now() AT TIME ZONE 'UTC')::date - $1::int)::text AS day`,
    [daysAgo],
  );
  return rows[0]?.day ?? '';
}

/** Publishes events to all that subscribe to them. @returns the ids of all deliveries */
export async function accept(database: Database, context: RequestContext, count: number): Promise<string[]> {
  const before = await listIds(database, context);
  await database.transaction({}, (unit) =>
    records.write(unit, context, {
      events: Array.from({ length: count }, (_, n) => ({
        type: 'wallet.tx.signed',
        data: { n, id: randomUUID() },
      })),
    }),
  );
  return (await listIds(database, context)).filter((id) => !before.includes(id));
}

async function listIds(database: Database, { tenant }: RequestContext): Promise<string[]> {
  const { rows } = await database.query<{ id: string }>(
    'SELECT id FROM deliveries WHERE tenant_id = $1 ORDER BY id',
    [tenant.id],
  );
  return rows.map(({ id }) => id);
}

/** Moves all that a tenant has to the middle of another day, as if it had been accepted then. */
export async function moveToDay(
  database: Database,
  { tenant }: RequestContext,
  daysAgo: number,
): Promise<void> {
  const day = await dayOf(database, daysAgo);
  for (const parent of ['events', 'deliveries', 'attempts'])
    await database.query('SELECT ensure_day_partition($1, $2::date)', [parent, day]);
  const moved = (column: string) =>
    `(left(uuid_of_time($2::timestamptz + interval '12 hours')::text, 13) || right(${column}::text, 23))::uuid`;
  for (const [table, columns] of [
    ['events', ['id']],
    ['deliveries', ['id', 'event_row']],
    ['attempts', ['delivery_id']],
    ['outbox', ['delivery_id']],
  ] as const)
    await database.query(
      `UPDATE ${table} SET ${columns.map((column) => `${column} = ${moved(column)}`).join(', ')} WHERE tenant_id = $1`,
      [tenant.id, `${day}T00:00:00Z`],
    );
}
