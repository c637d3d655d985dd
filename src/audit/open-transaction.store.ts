// SQL that finds what keeps the sealer back: the oldest transaction that is open in the cluster, in any database.
import { countBreaches } from '../platform/database/breach.ts';

/**
 * The oldest open transaction that has written, by role, database and the pid of its session, or the id of a prepared
 * one. A process of Postgres without a role is named by its kind. Only members of pg_read_all_stats see when the
 * transaction of another role began; it is at least as old as a row of the audit log with a later number.
 */
export const findOldestOpen = countBreaches(
  `coalesce(open.began, (SELECT l.occurred_at FROM audit_log l WHERE l.xid > open.xid ORDER BY l.xid, l.id LIMIT 1), now())`,
  `
FROM (
  WITH oldest AS MATERIALIZED (SELECT pg_snapshot_xmin(pg_current_snapshot()) AS xid)
  SELECT coalesce(a.usename, a.backend_type, '') || ' in the database ' || coalesce(a.datname, '') || ', pid ' || a.pid AS named,
    a.xact_start AS began, oldest.xid
  FROM pg_stat_activity a, oldest WHERE a.backend_xid = oldest.xid::xid
  UNION ALL
  SELECT p.owner || ' in the database ' || p.database || ', prepared ' || p.gid, p.prepared, oldest.xid
  FROM pg_prepared_xacts p, oldest WHERE p.transaction = oldest.xid::xid
) AS open`,
  { named: 'open.named' },
);
