// Events in the order in which a reader can no longer miss one, for the feed.

export const eventFeed = `
-- xid: the writing transaction. In the order (xid, id), behind a horizon of finished transactions, no row can join any more.
-- test: tries a receiver, nothing has happened; not in the feed.
ALTER TABLE events
  ADD COLUMN xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  ADD COLUMN test boolean NOT NULL DEFAULT false;
DROP INDEX events_by_tenant;
CREATE INDEX events_by_position ON events (tenant_id, xid, id) WHERE NOT test;

-- The next events of a tenant in the feed, up to "most". low: no id that is wanted is smaller. Its settings make it read the index in order
-- and stop: without statistics of a day that has just begun the planner would rather read and sort all that is left of it.
-- Since a time: begins after the last event, of any tenant, that is ten minutes older. Transactions are numbered as they begin to write,
-- so what was accepted later has a greater number.
CREATE FUNCTION event_feed(tenant uuid, after_xid xid8, after_id uuid, low uuid, since timestamptz, most integer)
RETURNS TABLE (xid xid8, id uuid, type text, size integer) LANGUAGE sql STABLE
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off AS $function$
  WITH earlier AS MATERIALIZED (
    SELECT coalesce((
      SELECT p.xid FROM events p WHERE since IS NOT NULL AND p.id < uuid_of_time(since - interval '10 minutes')
      ORDER BY p.id DESC LIMIT 1
    ), '0') AS xid
  )
  SELECT e.xid, e.id, e.type, octet_length(e.body)
  FROM events e
  WHERE e.tenant_id = tenant AND NOT e.test AND e.id >= low
    AND (e.xid, e.id) > (
      (SELECT greatest(after_xid, s.xid) FROM earlier s),
      (SELECT CASE WHEN s.xid > after_xid THEN '00000000-0000-0000-0000-000000000000' ELSE after_id END FROM earlier s))
    AND e.xid < pg_snapshot_xmin(pg_current_snapshot()) AND (since IS NULL OR e.created_at >= since)
  ORDER BY e.xid, e.id LIMIT most
$function$;
`;
