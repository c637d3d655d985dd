// SQL of what Postgres says of the archive of its WAL. Every role may read it.
import type { Queryable } from '../../platform/database/transaction.ts';

/**
 * `seconds` since a file was archived last, `waiting` whole files that are not archived yet, null before the first try,
 * `failures` of the archive command since Postgres' statistics began. `failed`: the file of the last try, and when,
 * unless that has succeeded.
 */
export type Archive = {
  readonly seconds: number;
  readonly waiting: number | null;
  readonly failures: number;
  readonly failed: { readonly file: string; readonly at: string } | null;
};

// Files are archived in their order. The names of other files than segments begin otherwise (00000002.history), or go on
// (….00000028.backup).
const ARCHIVE = `
WITH segments (current, archived, failed) AS (
  SELECT (pg_split_walfile_name(pg_walfile_name(pg_current_wal_lsn()))).segment_number,
    (pg_split_walfile_name(substring(last_archived_wal from '^[0-9A-F]{24}'))).segment_number,
    (pg_split_walfile_name(substring(last_failed_wal from '^[0-9A-F]{24}'))).segment_number
  FROM pg_stat_archiver
)
SELECT extract(epoch FROM now() - coalesce(last_archived_time, stats_reset))::float8 AS seconds,
  greatest(current - coalesce(archived + 1, failed), 0)::float8 AS waiting,
  failed_count::float8 AS failures,
  CASE WHEN last_failed_time > coalesce(last_archived_time, '-infinity')
    THEN jsonb_build_object('file', last_failed_wal, 'at', last_failed_time::text) END AS failed
FROM pg_stat_archiver, segments WHERE current_setting('archive_mode') <> 'off'`;

/** @returns undefined where Postgres archives nothing */
export async function readArchive(queryable: Queryable): Promise<Archive | undefined> {
  return (await queryable.query<Archive>(ARCHIVE)).rows[0];
}
