// The day partitions of the large tables: created ahead of time, detached and dropped when they are old. Each change is
// a separate statement that waits a quarter of a second for its lock.
// docs/decisions/0002-ids-and-partitions.md
import { countBreaches } from './breach.ts';
import { isLockTimeout, repeatWhileLocked } from './locked-change.ts';
import { done, many, value } from './statements.ts';
import type { Queryable } from './transaction.ts';

/** Deliveries come first, because the account of a day counts its deliveries before they are dropped. */
const PARTITIONED = ['deliveries', 'attempts', 'events'] as const;

type Partition = { readonly parent: (typeof PARTITIONED)[number]; readonly day: string };

/** The number of days ahead of today for which partitions exist. */
const DAYS_AHEAD = 7;

const PATIENCE = { tries: 5, pause: 300 } as const;

const MISSING = `
FROM unnest('{${PARTITIONED}}'::text[]) AS parent,
     generate_series((now() AT TIME ZONE 'UTC')::date - 1, (now() AT TIME ZONE 'UTC')::date + ${DAYS_AHEAD}, interval '1 day') AS day
WHERE to_regclass(parent || '_' || to_char(day, 'YYYYMMDD')) IS NULL`;

const listMissing = many<Partition>(`SELECT parent, day::date::text AS day ${MISSING} ORDER BY day, parent`);

/** Partitions that are not there, by the time since when they should be. */
export const findMissingPartitions = countBreaches(
  `day::date::timestamp AT TIME ZONE 'UTC' - interval '${DAYS_AHEAD} days'`,
  MISSING,
  { named: `parent || '_' || to_char(day, 'YYYYMMDD')` },
);

// Finds also partitions that were detached but not dropped, because a process ended between both steps.
const listOld = many<OldPartition, [parents: readonly string[], days: number]>(`
SELECT parent, to_date(right(c.relname, 8), 'YYYYMMDD')::text AS day, c.relispartition AS attached
FROM unnest($1::text[]) WITH ORDINALITY AS p (parent, place)
JOIN pg_class c ON c.relname ~ ('^' || parent || '_[0-9]{8}$') AND c.relkind = 'r' AND c.relnamespace = current_schema()::regnamespace
WHERE right(c.relname, 8) < to_char((now() AT TIME ZONE 'UTC')::date - $2::int, 'YYYYMMDD')
ORDER BY day, place`);

type Named = [parent: string, day: string];

const ensure = {
  owner: value<string, Named>('SELECT ensure_day_partition($1, $2::date)::text'),
  service: value<string, Named>(`SELECT keep_day_partition('ensure', $1, $2::date)`),
};
const detach = value<'detached' | 'unfinished' | 'gone', Named>(
  `SELECT keep_day_partition('detach', $1, $2::date)`,
);
const drop = done<Named>(`SELECT keep_day_partition('drop', $1, $2::date)`);

/**
 * Creates the missing partitions from yesterday until a week ahead.
 * @param by `owner`: the tables' owner, also before the migration that lets another role do this
 * @returns the number of new partitions
 * @throws when a partition did not get its lock. Until the next call creates it, the default partition stores its rows
 */
export async function ensurePartitions(
  database: Queryable,
  by: keyof typeof ensure = 'service',
): Promise<number> {
  let made = 0;
  for (const { parent, day } of await listMissing(database))
    if ((await repeatWhileLocked(() => ensure[by](database, parent, day), PATIENCE)) === 'true') made += 1;
  return made;
}

/** `attached`: false for a partition that is already detached. */
export type OldPartition = Partition & { readonly attached: boolean };

/**
 * Lists the partitions of days that are more than `days` days old: the oldest day first, within a day deliveries first.
 */
export const listOldPartitions = (database: Queryable, days: number): Promise<OldPartition[]> =>
  listOld(database, PARTITIONED, days);

/**
 * Detaches a partition from its table and drops it.
 * @param onDetached is called before the drop, also of a partition that an ended process has detached
 * @returns `unfinished` when it has unfinished deliveries, so that it stays; `busy` when it did not get its lock
 */
export async function dropPartition(
  database: Queryable,
  { parent, day }: Partition,
  onDetached?: () => Promise<void>,
): Promise<'dropped' | 'unfinished' | 'busy' | 'gone'> {
  try {
    const state = await repeatWhileLocked(() => detach(database, parent, day), PATIENCE);
    if (state !== 'detached') return state;
    await onDetached?.();
    await repeatWhileLocked(() => drop(database, parent, day), PATIENCE);
    return 'dropped';
  } catch (error) {
    if (isLockTimeout(error)) return 'busy';
    throw error;
  }
}

/**
 * The least and the greatest of these ids. A prepared statement that compares a partitioned table's id with both opens
 * only the partitions between them; it could not tell them from an array.
 * @param ids at least one, in the text form of a UUID
 */
export function boundsOf(ids: readonly string[]): [least: string, greatest: string] {
  const [first = ''] = ids;
  let [least, greatest] = [first, first];
  for (const id of ids) {
    if (id < least) least = id;
    if (id > greatest) greatest = id;
  }
  return [least, greatest];
}
