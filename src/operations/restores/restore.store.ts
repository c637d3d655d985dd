// SQL of a restored database: until when it has everything, its transaction ids, and whether a worker is connected.
import { done, many, one, only, value } from '../../platform/database/statements.ts';
import type { Queryable } from '../../platform/database/transaction.ts';
import type { EarlierCheck, IdState } from './restore.ts';

/** The action of the operator act that `countersign restore-check` records. */
export const RESTORED = 'service.restored';

// Postgres knows the last commit that it replayed until it is started anew. Ids of events grow with time.
/** @returns the time of the newest commit that is there; null for a database without events and audit log */
export const readRestoredTo = value<Date | null>(`
SELECT coalesce(pg_last_xact_replay_timestamp(), greatest(
  (SELECT created_at FROM events ORDER BY id DESC LIMIT 1),
  (SELECT occurred_at FROM audit_log ORDER BY xid DESC, id DESC LIMIT 1))) AS at`);

// An act of another cluster or database came with a dump; one from before the start of Postgres may be from before a
// restore.
/** @param since the restored moment, when an operator says it */
export const findEarlier = one<EarlierCheck, [database: string, since: Date | undefined]>(`
SELECT at, (data->>'restored_to')::timestamptz AS restored_to FROM operator_acts
WHERE action = '${RESTORED}' AND data->>'database' = $1
  AND CASE WHEN $2::timestamptz IS NULL THEN at >= pg_postmaster_start_time()
    ELSE (data->>'restored_to')::timestamptz = $2::timestamptz END
ORDER BY n DESC LIMIT 1`);

// The first event of each hour of the day before the restored moment, and how fast ids were used between two of them.
/** @param restoredTo end of the day whose pace is read */
export const readIds = only<Omit<IdState, 'missing'>, [restoredTo: Date]>(`
WITH marks AS (
  SELECT first.xid::text::numeric AS xid, first.created_at FROM generate_series(0, 24) AS hour
  CROSS JOIN LATERAL (
    SELECT xid, created_at FROM events
    WHERE id >= uuid_of_time($1::timestamptz - (hour + 1) * interval '1 hour')
      AND id < uuid_of_time($1::timestamptz - hour * interval '1 hour')
    ORDER BY id LIMIT 1) AS first
), paces AS (
  SELECT (xid - lag(xid) OVER by_time) / greatest(1, extract(epoch FROM created_at - lag(created_at) OVER by_time)) AS pace
  FROM marks WINDOW by_time AS (ORDER BY created_at)
)
SELECT pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS next,
  coalesce((SELECT max(pace) FROM paces), 0)::float8 AS per_second`);

/** Ids of one statement, which takes less than a second. */
export const IDS_AT_ONCE = 50_000;

// A transaction that only has an id writes nothing.
/** Consumes `IDS_AT_ONCE` transaction ids. Not within a transaction. */
export const consumeIds = done(`
DO $$ BEGIN FOR i IN 1..${IDS_AT_ONCE} LOOP PERFORM pg_current_xact_id(); COMMIT; END LOOP; END $$`);

const listRoles = many<{ role: string }>(`
SELECT DISTINCT substr(application_name, 13) AS role FROM pg_stat_activity
WHERE datname = current_database() AND application_name IN ('countersign api', 'countersign worker') ORDER BY role`);

/** @returns `api` and `worker`, where one is connected; Temporal lists a worker for a minute after its end */
export const listConnected = async (queryable: Queryable): Promise<string[]> =>
  (await listRoles(queryable)).map(({ role }) => role);

/** @returns what names this database among all clusters, and its time */
export const identify = only<{ database: string; now: Date }>(`
SELECT c.system_identifier || '/' || d.oid AS database, now()::timestamptz(3) AS now
FROM pg_control_system() c, pg_database d WHERE d.datname = current_database()`);
