// Published events, partitioned by day on their UUIDv7 ids, and their order in the feed.

export const events = `
-- The first UUIDv7 of a day: partition bounds are days, and a read by id alone finds its partition.
CREATE FUNCTION uuid_of_time(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$function$;

CREATE TABLE events (
  id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  -- The publisher's own id, or this row's.
  event_id text NOT NULL,
  type text NOT NULL,
  occurred_at timestamptz(3) NOT NULL,
  -- The exact bytes that every attempt sends.
  body bytea NOT NULL,
  -- Tries a receiver and tells of nothing that happened; not in the feed.
  test boolean NOT NULL DEFAULT false,
  -- To how many deliveries the event was fanned out, as its publishing counted them; null where it did not. The rows of deliveries are
  -- compared with it, so it must never be computed from them.
  deliveries integer,
  -- The writing transaction: in the order (xid, id), behind a horizon of finished transactions, no row can join any more.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (id) INCLUDE (tenant_id, deliveries)
) PARTITION BY RANGE (id);
CREATE INDEX events_by_event_id ON events (tenant_id, event_id);
CREATE INDEX events_by_position ON events (tenant_id, xid, id) WHERE NOT test;
CREATE TABLE events_default PARTITION OF events DEFAULT;

-- A published event id: a repetition gets the first answer, and other content under the same id a refusal.
CREATE TABLE published_events (
  tenant_id uuid NOT NULL,
  event_id text NOT NULL,
  id uuid NOT NULL,
  digest bytea NOT NULL,
  deliveries integer NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT published_events_unique PRIMARY KEY (tenant_id, event_id)
);
CREATE INDEX published_events_by_age ON published_events (created_at);

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
