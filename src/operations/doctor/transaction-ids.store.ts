// SQL that finds rows of transactions which this cluster has not begun: their database comes from another cluster.
import type { Queryable } from '../../platform/database/transaction.ts';

/** Rows of `table` are of transactions up to `missing` ids ahead of this cluster's next one. */
export type AheadRows = { readonly table: string; readonly missing: number };

/** The days that are read back, and the newest events that are read of each. */
const DAYS = 31;
const EVENTS_OF_A_DAY = 100;

// Ids of events grow with time, so the newest events of a day have its highest transactions, and their index is read
// from its end. The audit log has an index of transactions. (While revocations are ahead, checks of tokens ask
// the database; after 25 hours none are.)
const AHEAD = `
WITH newest AS (
  SELECT e.xid FROM generate_series(0, ${DAYS}) AS day
  CROSS JOIN LATERAL (
    SELECT xid FROM events
    WHERE id >= uuid_of_time(date_trunc('day', now(), 'UTC') - day * interval '1 day')
      AND id < uuid_of_time(date_trunc('day', now(), 'UTC') - (day - 1) * interval '1 day')
    ORDER BY id DESC LIMIT ${EVENTS_OF_A_DAY}) AS e
), highest ("table", xid) AS (
  VALUES ('audit_head', (SELECT last_xid FROM audit_head)),
    ('audit_log', (SELECT xid FROM audit_log ORDER BY audit_log.xid DESC, id DESC LIMIT 1)),
    ('events', (SELECT xid FROM newest ORDER BY xid DESC LIMIT 1))
)
SELECT "table", (xid::text::numeric - pg_snapshot_xmax(pg_current_snapshot())::text::numeric + 1)::float8 AS missing
FROM highest WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()) ORDER BY "table"`;

export async function findAhead(queryable: Queryable): Promise<AheadRows[]> {
  return (await queryable.query<AheadRows>(AHEAD)).rows;
}
