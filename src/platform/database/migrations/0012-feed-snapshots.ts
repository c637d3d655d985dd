// The feed without a horizon: a cursor names the transactions that had not ended.

/**
 * The former version calls the function of this name with fewer parameters. This one returns all rows that have
 * committed, so no open transaction delays a row. Rows of transactions that this cluster has not begun are not shown.
 * `open_xids` and `open_ids`: transactions before `after_xid` that the caller has not read, or only up to an id.
 */
export const feedSnapshots = `
CREATE FUNCTION event_feed(tenant uuid, after_xid xid8, after_id uuid, open_xids xid8[], open_ids uuid[], low uuid, since timestamptz,
  most integer)
RETURNS TABLE (xid xid8, id uuid, type text, size integer) LANGUAGE sql STABLE
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off AS $function$
  WITH earlier AS MATERIALIZED (
    SELECT coalesce((
      SELECT p.xid FROM events p WHERE since IS NOT NULL AND p.id < uuid_of_time(since - interval '10 minutes')
      ORDER BY p.id DESC LIMIT 1
    ), '0') AS xid
  ), open AS (
    SELECT e.* FROM unnest(open_xids, open_ids) AS o (xid, id) CROSS JOIN LATERAL (
      SELECT e.xid, e.id, e.type, octet_length(e.body) AS size
      FROM events e
      WHERE e.tenant_id = tenant AND NOT e.test AND e.id >= low AND e.xid = o.xid AND e.id > o.id
        AND (since IS NULL OR e.created_at >= since)
      ORDER BY e.xid, e.id LIMIT most
    ) AS e
  ), later AS (
    SELECT e.xid, e.id, e.type, octet_length(e.body) AS size
    FROM events e
    WHERE e.tenant_id = tenant AND NOT e.test AND e.id >= low
      AND (e.xid, e.id) > (
        (SELECT greatest(after_xid, s.xid) FROM earlier s),
        (SELECT CASE WHEN s.xid > after_xid THEN '00000000-0000-0000-0000-000000000000' ELSE after_id END FROM earlier s))
      AND e.xid < pg_snapshot_xmax(pg_current_snapshot())
      AND (since IS NULL OR e.created_at >= since)
    ORDER BY e.xid, e.id LIMIT most
  )
  SELECT * FROM (SELECT * FROM open UNION ALL SELECT * FROM later) AS e ORDER BY e.xid, e.id LIMIT most
$function$;
`;
