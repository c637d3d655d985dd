// Events, subscriptions, endpoints, deliveries, attempts, outbox, relays. Big tables are partitioned by day on their UUIDv7 ids.

export const events = `
-- The first UUIDv7 of a day: partition bounds are days, and a lookup by id alone finds its partition.
CREATE FUNCTION uuid_of_time(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$function$;

-- The id of the delivery of one event to one subscription: the event's time, then a digest. Publishing again makes the same ids.
CREATE FUNCTION delivery_id_of(event uuid, subscription uuid) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (substr(replace(event::text, '-', ''), 1, 13) || substr(digest, 1, 3) || '8' || substr(digest, 4, 15))::uuid
  FROM md5(event::text || subscription::text) AS digest
$function$;

-- body: the exact bytes that every attempt sends. event_id: the publisher's own id, or this row's.
CREATE TABLE events (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  event_id text NOT NULL,
  type text NOT NULL,
  occurred_at timestamptz(3) NOT NULL,
  body bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
) PARTITION BY RANGE (id);
CREATE INDEX events_by_tenant ON events (tenant_id, id);
CREATE INDEX events_by_event_id ON events (tenant_id, event_id);

-- One published event id, so that a repetition gets the first answer and another content a refusal.
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

-- filters: event_types with ** written as *. Secrets and headers are sealed with a master key.
CREATE TABLE subscriptions (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  url text NOT NULL,
  host text NOT NULL,
  event_types text[] NOT NULL,
  filters text[] NOT NULL,
  description text,
  sink text NOT NULL CHECK (sink IN ('standard', 'security', 'audit')),
  secret_sealed bytea NOT NULL,
  next_secret_sealed bytea,
  secret_overlap_ends_at timestamptz(3),
  headers_sealed bytea,
  max_age integer NOT NULL DEFAULT 300 CHECK (max_age BETWEEN 60 AND 3600),
  rate_limit integer,
  retry_policy jsonb,
  disable_after_days integer NOT NULL DEFAULT 14,
  disabled_reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE INDEX subscriptions_by_tenant ON subscriptions (tenant_id, id) WHERE deleted_at IS NULL;

-- A subscription's gate. epoch counts openings: whoever waits compares epochs, never a boolean.
CREATE TABLE endpoints (
  subscription_id uuid PRIMARY KEY REFERENCES subscriptions,
  tenant_id uuid NOT NULL,
  active boolean NOT NULL DEFAULT true,
  deleted boolean NOT NULL DEFAULT false,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'held', 'down')),
  hold_until timestamptz(3),
  epoch bigint NOT NULL DEFAULT 0,
  failing_since timestamptz(3),
  failures_in_a_row integer NOT NULL DEFAULT 0,
  in_flight_cap integer NOT NULL DEFAULT 32 CHECK (in_flight_cap BETWEEN 1 AND 1000),
  p90_ms integer,
  updated_at timestamptz(3) NOT NULL DEFAULT now()
) WITH (fillfactor = 70);

-- A hold that has run out is an open endpoint, whoever looks first.
CREATE FUNCTION endpoint_is_open(endpoint endpoints) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT endpoint.active AND NOT endpoint.deleted AND endpoint.state <> 'down' AND (endpoint.hold_until IS NULL OR endpoint.hold_until <= now())
$function$;

-- Stored status: pending (untried), retrying (tried), delivered, failed, canceled. "held" is never stored: see delivery_records.
-- failed_attempts: position in the retry schedule of this generation. waiting_epoch: the endpoint's epoch when its workflow went to wait for it.
-- started_generation: generation of the workflow that was started, null while none was.
CREATE TABLE deliveries (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  event_row uuid NOT NULL,
  event_id text NOT NULL,
  event_type text NOT NULL,
  test boolean NOT NULL DEFAULT false,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'retrying', 'delivered', 'failed', 'canceled')),
  generation integer NOT NULL DEFAULT 0,
  started_generation integer,
  attempt_count integer NOT NULL DEFAULT 0,
  failed_attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  needs_workflow boolean NOT NULL DEFAULT false,
  waiting_epoch bigint,
  retry_requested_at timestamptz(3),
  last_status_code integer,
  last_error text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  completed_at timestamptz(3)
) PARTITION BY RANGE (id);
CREATE INDEX deliveries_by_subscription ON deliveries (tenant_id, subscription_id, id);
CREATE INDEX deliveries_by_tenant ON deliveries (tenant_id, id);
CREATE INDEX deliveries_by_event_type ON deliveries (tenant_id, event_type, id);
CREATE INDEX deliveries_ended_badly ON deliveries (tenant_id, id) WHERE status IN ('failed', 'canceled');
CREATE INDEX deliveries_ended_badly_by_subscription ON deliveries (tenant_id, subscription_id, id) WHERE status IN ('failed', 'canceled');
CREATE INDEX deliveries_by_event ON deliveries (event_row);
CREATE INDEX deliveries_unfinished ON deliveries (subscription_id, id) WHERE status IN ('pending', 'retrying');
CREATE INDEX deliveries_overdue ON deliveries (next_attempt_at) WHERE status IN ('pending', 'retrying') AND started_generation IS NOT NULL;
CREATE INDEX deliveries_waiting ON deliveries (subscription_id, id) WHERE waiting_epoch IS NOT NULL;
CREATE INDEX deliveries_needing_workflow ON deliveries (id) WHERE needs_workflow;

-- One POST. outcome: delivered, retry, gone, rejected. error: a class and code, never a text with addresses or secrets.
CREATE TABLE attempts (
  delivery_id uuid NOT NULL,
  n integer NOT NULL,
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  generation integer NOT NULL,
  probe boolean NOT NULL DEFAULT false,
  started_at timestamptz(3) NOT NULL,
  duration_ms integer NOT NULL,
  phases jsonb NOT NULL DEFAULT '{}',
  status_code integer,
  outcome text NOT NULL,
  error text,
  retry_after_seconds integer,
  response_excerpt text,
  recorded_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (delivery_id, n)
) PARTITION BY RANGE (delivery_id);

-- Work to hand over. first: an untried delivery; wake: a tried one that waits for its endpoint; start: a workflow to start
-- (replay, sweep, a first attempt that was made without one); command: retry or cancel for a running workflow (name in command).
-- first, wake and start are claimable only while their endpoint is open; commands always.
CREATE TABLE outbox (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  endpoint uuid NOT NULL,
  delivery_id uuid NOT NULL,
  generation integer NOT NULL DEFAULT 0,
  kind text NOT NULL CHECK (kind IN ('first', 'wake', 'start', 'command')),
  command text CHECK (command IN ('retry', 'cancel')),
  claimed_by uuid,
  claim_epoch bigint,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CHECK ((kind = 'command') = (command IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_ready ON outbox (tenant_id, endpoint, id) WHERE claimed_by IS NULL AND kind <> 'command';
CREATE INDEX outbox_commands ON outbox (id) WHERE claimed_by IS NULL AND kind = 'command';
CREATE INDEX outbox_claimed ON outbox (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX outbox_by_delivery ON outbox (delivery_id);

-- A living relay. Older than 5 s by this clock: its claims are taken over and its epoch ends.
CREATE TABLE relays (
  instance uuid PRIMARY KEY,
  epoch bigint NOT NULL,
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  seen_at timestamptz(3) NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- What people and routes see: a delivery that nothing has tried is held while its endpoint is closed; one of a deleted subscription is canceled.
CREATE VIEW delivery_records AS
SELECT d.*,
  CASE
    WHEN d.status IN ('pending', 'retrying') AND l.deleted THEN 'canceled'
    WHEN d.status = 'pending' AND NOT endpoint_is_open(l) THEN 'held'
    ELSE d.status
  END AS shown_status
FROM deliveries d JOIN endpoints l ON l.subscription_id = d.subscription_id;

-- Makes the day partition of one table. Rows that meanwhile fell into the default partition move into it.
CREATE FUNCTION ensure_day_partition(parent text, day date) RETURNS boolean LANGUAGE plpgsql AS $function$
DECLARE
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
  spare text := parent || '_default';
  key text := CASE parent WHEN 'attempts' THEN 'delivery_id' ELSE 'id' END;
  low uuid := uuid_of_time(day::timestamp AT TIME ZONE 'UTC');
  high uuid := uuid_of_time((day + 1)::timestamp AT TIME ZONE 'UTC');
BEGIN
  IF to_regclass(child) IS NOT NULL THEN RETURN false; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('ensure_day_partition'));
  IF to_regclass(child) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', child, parent);
  IF parent <> 'events' THEN
    EXECUTE format('ALTER TABLE %I SET (fillfactor = 80)', child);
  END IF;
  EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) INSERT INTO %I SELECT * FROM moved', spare, key, low, key, high, child);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, low, high);
  RETURN true;
END
$function$;

CREATE TABLE events_default PARTITION OF events DEFAULT;
CREATE TABLE deliveries_default PARTITION OF deliveries DEFAULT;
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;
`;
