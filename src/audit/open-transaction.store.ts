// SQL that finds what keeps the sealer back: the oldest transaction that is open in the cluster, in any database.
import { one } from '../platform/database/statements.ts';

/**
 * `role`: for a process of Postgres without one, its kind. `pid`: the process of the session, or the id of a prepared
 * transaction. The transaction is at least `seconds` old.
 */
export type OpenTransaction = {
  readonly database: string;
  readonly role: string;
  readonly pid: string;
  readonly seconds: number;
};

/** @returns undefined when no transaction that has written is open */
// Only members of pg_read_all_stats see when the transaction of another role began. It is at least as old as a row of
// the audit log with a later number.
export const findOldestOpen = one<OpenTransaction>(`
WITH oldest AS MATERIALIZED (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xid), open AS (
  SELECT coalesce(a.datname, '') AS database, coalesce(a.usename, a.backend_type, '') AS role, a.pid::text AS pid, a.xact_start AS began
  FROM pg_stat_activity a, oldest WHERE a.backend_xid = oldest.xid::xid
  UNION ALL
  SELECT p.database, p.owner, 'prepared ' || p.gid, p.prepared
  FROM pg_prepared_xacts p, oldest WHERE p.transaction = oldest.xid::xid
)
SELECT open.database, open.role, open.pid, extract(epoch FROM clock_timestamp() - coalesce(open.began,
  (SELECT l.occurred_at FROM audit_log l WHERE l.xid > (SELECT xid FROM oldest) ORDER BY l.xid, l.id LIMIT 1),
  clock_timestamp()))::float8 AS seconds
FROM open LIMIT 1`);
