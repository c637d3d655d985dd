// SQL of what the cluster says: processes whose role may do more than the one that migrate has granted rights to, the
// archive of the WAL, and rows of transactions that this cluster has not begun, since their database is of another one.
import { countBreaches } from '../../platform/database/breach.ts';
import { many, one } from '../../platform/database/statements.ts';

/**
 * Sessions of api and worker as a role that may change the audit log. Only where some role has rights beside the owner,
 * because without one there is nothing to prefer. Names of sessions can be read without further rights; when they began
 * cannot, and is then the start of Postgres.
 */
export const findStrongSessions = countBreaches(
  'backend_start',
  `
FROM (
  SELECT application_name, usename, count(*) AS n, 
    coalesce(min(backend_start), pg_postmaster_start_time()) AS backend_start
  FROM pg_stat_activity a, pg_class log
  WHERE log.oid = to_regclass('audit_log') AND a.datname = current_database()
    AND a.application_name IN ('countersign api', 'countersign worker')
    AND EXISTS (SELECT 1 FROM aclexplode(log.relacl) g WHERE g.grantee NOT IN (0, log.relowner) AND g.privilege_type = 'INSERT')
    AND (pg_has_role(a.usesysid, log.relowner, 'MEMBER') OR has_table_privilege(a.usesysid, log.oid, 'UPDATE, DELETE, TRUNCATE'))
  GROUP BY 1, 2 ORDER BY 1, 2
) AS strong`,
  { number: 'n', named: `application_name || ' as ' || usename` },
);

/** `seconds` since a file was archived, `waiting` whole files, `failures` so far. */
export type Archive = { readonly seconds: number; readonly waiting: number; readonly failures: number };

/** The number of a segment; none of 00000002.history. Files are archived in their order. */
const segment = (file: string) =>
  `(pg_split_walfile_name(substring(${file}, '^[0-9A-F]{24}'))).segment_number`;

const OF_ARCHIVE = `
FROM (
  SELECT coalesce(last_archived_time, stats_reset) AS archived, failed_count, last_failed_wal, last_archived_time, last_failed_time,
    greatest(${segment('pg_walfile_name(pg_current_wal_lsn())')}
      - coalesce(${segment('last_archived_wal')} + 1, ${segment('last_failed_wal')}, 0), 0)::float8 AS waiting
  FROM pg_stat_archiver WHERE current_setting('archive_mode') <> 'off'
) AS archive`;

/** The archive; undefined where Postgres archives nothing. */
export const readArchive = one<Archive>(
  `SELECT extract(epoch FROM now() - archived)::float8 AS seconds, waiting, failed_count::float8 AS failures ${OF_ARCHIVE}`,
);

/** An archive whose last try has failed, that is slower than the load, or that takes nothing although files wait. */
export const findUnarchived = countBreaches(
  'archived',
  `${OF_ARCHIVE}
WHERE last_failed_time > coalesce(last_archived_time, '-infinity') OR waiting > 64
  OR waiting > 0 AND archived < now() - interval '10 minutes'`,
  {
    number: 'greatest(waiting, 1)',
    named: `CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity') THEN last_failed_wal END`,
  },
);

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

/** Tables whose rows are ahead of the cluster's transaction ids. */
export const findAhead = many<AheadRows>(AHEAD);

/** The same tables, by their missing ids. They are wrong since this cluster was started on them. */
export const countAhead = countBreaches('pg_postmaster_start_time()', `FROM (${AHEAD}) AS ahead`, {
  named: `"table" || ' by ' || missing || ' transactions'`,
});
