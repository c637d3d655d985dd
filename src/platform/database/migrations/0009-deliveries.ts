// Deliveries and their attempts, both partitioned by day; the outbox and the relays that hand it over; replays of many
// deliveries, receipts, and the accounts of each day.

export const deliveries = `
-- The id of the delivery of one event to one subscription: the event's time, then a digest. Publishing again makes the same ids.
-- One expression without FROM, so that it is inlined into the statements that use it.
CREATE FUNCTION delivery_id_of(event uuid, subscription uuid) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (substr(replace(event::text, '-', ''), 1, 13) || substr(md5(event::text || subscription::text), 1, 3) || '8'
    || substr(md5(event::text || subscription::text), 4, 15))::uuid
$function$;

CREATE TABLE deliveries (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  -- events.id; event_id is the publisher's.
  event_row uuid NOT NULL,
  event_id text NOT NULL,
  event_type text NOT NULL,
  test boolean NOT NULL DEFAULT false,
  -- pending: untried; retrying: tried. "held" is never stored: see delivery_records.
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'retrying', 'delivered', 'failed', 'canceled')),
  -- Counts replays: each has a retry schedule and a workflow of its own.
  generation integer NOT NULL DEFAULT 0,
  -- Generation of the workflow that was started; null while none was.
  started_generation integer,
  attempt_count integer NOT NULL DEFAULT 0,
  -- Position in the retry schedule of this generation.
  failed_attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  -- A first attempt failed that was made without a workflow, and the one for the retries is not started yet.
  needs_workflow boolean NOT NULL DEFAULT false,
  -- The endpoint's epoch when the delivery's workflow began to wait for it.
  waiting_epoch bigint,
  -- When somebody asked for the next attempt before its time.
  retry_requested_at timestamptz(3),
  last_status_code integer,
  last_error text,
  -- The traceparent of the request that published it; null where that was not traced.
  trace text,
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
CREATE TABLE deliveries_default PARTITION OF deliveries DEFAULT;

-- Deliveries as people and routes see them. An untried delivery is held while its endpoint is closed, also at the moment of a probe; one of
-- a deleted subscription is canceled.
CREATE VIEW delivery_records AS
SELECT d.*,
  CASE
    WHEN d.status IN ('pending', 'retrying') AND e.deleted THEN 'canceled'
    WHEN d.status = 'pending' AND (NOT endpoint_is_open(e) OR e.state = 'down') THEN 'held'
    ELSE d.status
  END AS shown_status
FROM deliveries d JOIN endpoints e ON e.subscription_id = d.subscription_id;

-- One POST.
CREATE TABLE attempts (
  delivery_id uuid NOT NULL,
  n integer NOT NULL,
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  generation integer NOT NULL,
  -- Made while the endpoint was down, to find out whether it is back.
  probe boolean NOT NULL DEFAULT false,
  started_at timestamptz(3) NOT NULL,
  duration_ms integer NOT NULL,
  -- Milliseconds: dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms.
  phases jsonb NOT NULL DEFAULT '{}',
  status_code integer,
  -- delivered, retry, gone or rejected.
  outcome text NOT NULL,
  -- A class and a code, never a text with addresses or secrets.
  error text,
  retry_after_seconds integer,
  response_excerpt text,
  recorded_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (delivery_id, n)
) PARTITION BY RANGE (delivery_id);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;

-- Work to hand over. Commands can always be claimed, the other kinds only while their endpoint is open.
CREATE TABLE outbox (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  -- The subscription's id.
  endpoint uuid NOT NULL,
  delivery_id uuid NOT NULL,
  generation integer NOT NULL DEFAULT 0,
  -- first: an untried delivery; wake: a tried one that waits for its endpoint; start: a workflow to start (replay, sweep, a first attempt
  -- that was made without one); command: for a running workflow.
  kind text NOT NULL CHECK (kind IN ('first', 'wake', 'start', 'command')),
  command text CHECK (command IN ('retry', 'cancel')),
  -- Within an endpoint first attempts (0) go before retries (1), retries before replays (2), and of each the oldest first.
  rank smallint NOT NULL DEFAULT 0,
  -- The relay that has taken the row, and that relay's epoch.
  claimed_by uuid,
  claim_epoch bigint,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CHECK ((kind = 'command') = (command IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_ready ON outbox (tenant_id, endpoint, rank, id) WHERE claimed_by IS NULL AND kind <> 'command';
CREATE INDEX outbox_commands ON outbox (id) WHERE claimed_by IS NULL AND kind = 'command';
CREATE INDEX outbox_claimed ON outbox (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX outbox_by_delivery ON outbox (delivery_id);

-- A process that lives and claims rows of the outbox. When seen_at is older than 5 s by the database's clock, others take its claims over and its epoch ends.
CREATE TABLE relays (
  instance uuid PRIMARY KEY,
  -- worker: a relay, which claims any row. api: a process that claims only rows that it inserts.
  role text NOT NULL CHECK (role IN ('worker', 'api')),
  epoch bigint NOT NULL,
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  seen_at timestamptz(3) NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- A replay of many deliveries of one subscription: those that had ended with delivery_status before created_at.
CREATE TABLE bulk_replays (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  subscription_id uuid NOT NULL REFERENCES subscriptions,
  delivery_status text NOT NULL CHECK (delivery_status IN ('failed', 'canceled', 'delivered')),
  -- When the deliveries were accepted: since is included, until is not.
  since timestamptz(3) NOT NULL,
  until timestamptz(3) NOT NULL,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'canceled')),
  end_reason text,
  -- Number of such deliveries at created_at.
  matched integer NOT NULL,
  replayed integer NOT NULL DEFAULT 0,
  -- All deliveries up to this one are done.
  next_after uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  completed_at timestamptz(3)
);
CREATE INDEX bulk_replays_by_subscription ON bulk_replays (tenant_id, subscription_id, id);
CREATE UNIQUE INDEX bulk_replays_running ON bulk_replays (subscription_id) WHERE status = 'running';

-- Who has acknowledged that an agent's access ended: one for each such event; its deliveries are the receivers.
CREATE TABLE receipts (
  -- events.id.
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL,
  -- The type of the event.
  cause text NOT NULL,
  receivers integer NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- When the last delivery ended, as the receipt's workflow saw it first; a replay does not change it.
  completed_at timestamptz(3)
);
CREATE INDEX receipts_by_agent ON receipts (tenant_id, agent_id, id);
CREATE INDEX receipts_open ON receipts (id) WHERE completed_at IS NULL;
CREATE INDEX receipts_by_age ON receipts (created_at);

-- A tenant's deliveries by the UTC day of acceptance, as they were counted last.
CREATE TABLE delivery_accounts (
  tenant_id uuid NOT NULL,
  day date NOT NULL,
  accepted bigint NOT NULL,
  delivered bigint NOT NULL,
  waiting bigint NOT NULL,
  held bigint NOT NULL,
  failed bigint NOT NULL,
  canceled bigint NOT NULL,
  -- Of those that have not ended: deliveries that nothing is going to move.
  stranded bigint NOT NULL,
  -- Anything but 0: deliveries were lost, or counted twice.
  difference bigint GENERATED ALWAYS AS (accepted - delivered - waiting - held - failed - canceled) STORED,
  counted_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, day)
);
CREATE INDEX delivery_accounts_by_day ON delivery_accounts (day);
CREATE INDEX delivery_accounts_wrong ON delivery_accounts (day) WHERE difference <> 0;

-- When a day was counted last, whether or not any tenant had deliveries.
CREATE TABLE delivery_account_days (
  day date PRIMARY KEY,
  counted_at timestamptz(3) NOT NULL,
  took_ms integer NOT NULL
);
`;
