// Revocations are read in pages, and the single ones of one holder are counted.
import type { MigrationStep } from '../migration-steps.ts';

/**
 * `holder`: who holds the token that a row ends; null in rows of the former version, and of principals. The function
 * returns the rows that have committed after a position, as `event_feed` does: `open_xids` and `open_ids` are the
 * transactions before `after_xid` that the caller has not read, or only up to an id. It reads no more than `most` rows
 * of the table for `after_xid`, and `most` for each of those.
 */
export const revocationPages: readonly MigrationStep[] = [
  'ALTER TABLE revocations ADD COLUMN holder uuid',
  { index: 'revocations_by_position', on: 'revocations (xid, id)' },
  { index: 'revocations_by_holder', on: 'revocations (holder, expires_at) WHERE holder IS NOT NULL' },
  'DROP INDEX revocations_by_xid',
  `
CREATE FUNCTION revocation_page(after_xid xid8, after_id bigint, open_xids xid8[], open_ids bigint[], most integer)
RETURNS TABLE (xid xid8, id bigint, tenant_id uuid, token_id uuid, principal uuid, not_before timestamptz, expires_at timestamptz)
LANGUAGE sql STABLE SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off AS $function$
  WITH open AS (
    SELECT r.* FROM unnest(open_xids, open_ids) AS o (xid, id) CROSS JOIN LATERAL (
      SELECT r.* FROM revocations r WHERE r.xid = o.xid AND r.id > o.id ORDER BY r.xid, r.id LIMIT most
    ) AS r
  ), later AS (
    SELECT r.* FROM revocations r
    WHERE (r.xid, r.id) > (after_xid, after_id) AND r.xid < pg_snapshot_xmax(pg_current_snapshot())
    ORDER BY r.xid, r.id LIMIT most
  )
  SELECT r.xid, r.id, r.tenant_id, r.token_id, r.principal, r.not_before, r.expires_at
  FROM (SELECT * FROM open UNION ALL SELECT * FROM later) AS r ORDER BY r.xid, r.id LIMIT most
$function$;
`,
];
