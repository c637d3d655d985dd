// SQL of what the cluster says: processes whose role may do more than the one that migrate has granted rights to, the
// archive of the WAL, and rows of transactions that this cluster has not begun, since their database is of another one.
import { many, one } from '../../platform/database/statements.ts';

/** `sessions` of `process` (its name in pg_stat_activity) connect as `role`. */
export type StrongProcess = { readonly process: string; readonly role: string; readonly sessions: number };

// Only where some role has rights beside the owner, because without one there is nothing to prefer. Names of sessions
// can be read without further rights.
export const findStrongProcesses = many<StrongProcess>(`
SELECT a.application_name AS process, a.usename AS role, count(*)::int AS sessions
FROM pg_stat_activity a, pg_class log
WHERE log.oid = to_regclass('audit_log') AND a.datname = current_database()
  AND a.application_name IN ('countersign api', 'countersign worker')
  AND EXISTS (SELECT 1 FROM aclexplode(log.relacl) g WHERE g.grantee NOT IN (0, log.relowner) AND g.privilege_type = 'INSERT')
  AND (pg_has_role(a.usesysid, log.relowner, 'MEMBER') OR has_table_privilege(a.usesysid, log.oid, 'UPDATE, DELETE, TRUNCATE'))
GROUP BY 1, 2 ORDER BY 1, 2`);

/** `seconds` since a file was archived, `waiting` whole files, `failures` so far; the last try if it has `failed`. */
export type Archive = {
  readonly seconds: number;
  readonly waiting: number;
  readonly failures: number;
  readonly failed: { readonly file: string; readonly at: string } | null;
};

/** The number of a segment; none of 00000002.history. Files are archived in their order. */
const segment = (file: string) =>
  `(pg_split_walfile_name(substring(${file}, '^[0-9A-F]{24}'))).segment_number`;

/** @returns undefined where Postgres archives nothing */
export const readArchive = one<Archive>(`
SELECT extract(epoch FROM now() - coalesce(last_archived_time, stats_reset))::float8 AS seconds,
  greatest(${segment('pg_walfile_name(pg_current_wal_lsn())')}
    - coalesce(${segment('last_archived_wal')} + 1, ${segment('last_failed_wal')}, 0), 0)::float8 AS waiting,
  failed_count::float8 AS failures,
  CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity')
    THEN jsonb_build_object('file', last_failed_wal, 'at', last_failed_time::text) END AS failed
FROM pg_stat_archiver WHERE current_setting('archive_mode') <> 'off'`);

/** Rows of `table` are of transactions up to `missing` ids ahead of this cluster's next one. */
export type AheadRows = { readonly table: string; readonly missing: number };

/** The days that are read back, and the newest events that are read of each. */
const DAYS = 31;
const EVENTS_OF_A_DAY = 100;

// Ids of events grow with time, so the newest events of a day have its highest transactions, and their index is read
// from its end. The audit log has an index of transactions. (While revocations are ahead, checks of tokens ask
// the database; after 25 hours none are.)
export const findAhead = many<AheadRows>(`
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
FROM highest WHERE xid >= pg_snapshot_xmax(pg_current_snapshot()) ORDER BY "table"`);
