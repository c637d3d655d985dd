// Subscriptions, their endpoints with all that opens and closes them, holds of hosts, and replays of many deliveries.

export const webhooks = `
-- The name of a host without its port.
CREATE FUNCTION host_name(host text) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT regexp_replace(host, ':[0-9]+$', '')
$function$;

CREATE TABLE subscriptions (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  url text NOT NULL,
  -- The URL's host, with the port where the scheme has another. An IPv4-mapped address stands as the IPv4 address: [::ffff:5db8:d822] is 93.184.216.34.
  host text NOT NULL,
  event_types text[] NOT NULL,
  -- event_types with ** written as *.
  filters text[] NOT NULL,
  description text,
  sink text NOT NULL CHECK (sink IN ('standard', 'security', 'audit')),
  -- The secrets and the headers are sealed with a master key.
  secret_sealed bytea NOT NULL,
  -- During a rotation both secrets sign, until the overlap ends.
  next_secret_sealed bytea,
  secret_overlap_ends_at timestamptz(3),
  headers_sealed bytea,
  -- Seconds for which a receiver takes a signature as fresh.
  max_age integer NOT NULL DEFAULT 300 CHECK (max_age BETWEEN 60 AND 3600),
  -- Attempts a second at most; null: no limit.
  rate_limit integer,
  -- Null: the default schedule.
  retry_policy jsonb,
  disable_after_days integer NOT NULL DEFAULT 14,
  disabled_reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE INDEX subscriptions_by_tenant ON subscriptions (tenant_id, id) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_by_host ON subscriptions (host_name(host), id) WHERE deleted_at IS NULL;
-- Subscriptions whose rotation of secrets has a workflow.
CREATE INDEX subscriptions_overlapping ON subscriptions (id) WHERE secret_overlap_ends_at IS NOT NULL;
CREATE INDEX subscriptions_by_sealing_key ON subscriptions (sealing_key(secret_sealed), id) WHERE secret_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_next_sealing_key ON subscriptions (sealing_key(next_secret_sealed), id) WHERE next_secret_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_headers_sealing_key ON subscriptions (sealing_key(headers_sealed), id) WHERE headers_sealed IS NOT NULL;

-- The delivery state of a subscription: whether attempts may begin, and how many.
CREATE TABLE endpoints (
  subscription_id uuid PRIMARY KEY REFERENCES subscriptions,
  tenant_id uuid NOT NULL,
  active boolean NOT NULL DEFAULT true,
  deleted boolean NOT NULL DEFAULT false,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'held', 'down')),
  -- Counts openings. A waiting delivery keeps the epoch that it saw: a boolean may have changed twice.
  epoch bigint NOT NULL DEFAULT 0,
  -- Until when the endpoint asked not to be called (Retry-After).
  hold_until timestamptz(3),
  -- 'infinity' while the tenant is suspended, afterwards the end of the suspension. A copy, so that an endpoint is decided by one row.
  tenant_held_until timestamptz,
  -- host_hold_end of the subscription's host, copied for the same reason.
  host_held_until timestamptz,
  failing_since timestamptz(3),
  failures_in_a_row integer NOT NULL DEFAULT 0,
  -- The first three deliveries that failed in a row.
  failing_deliveries uuid[] NOT NULL DEFAULT '{}',
  -- The latest success that followed a failure.
  recovered_at timestamptz(3),
  -- Code of the latest failure; null after a success.
  last_error text,
  -- While the endpoint is down: when the next attempt may pass, and how many probes have failed.
  probe_at timestamptz(3),
  probe_step integer NOT NULL DEFAULT 0,
  -- Attempts that may still begin while the endpoint returns; null: it is not paced. permits_at: when that number last changed.
  permits integer CHECK (permits >= 0),
  permits_at timestamptz(3),
  -- Paced attempts that have succeeded.
  released integer NOT NULL DEFAULT 0,
  -- The endpoint's workflow knows of the outage and has not ended its watch.
  watched boolean NOT NULL DEFAULT false,
  -- Warnings that were sent about the outage which began at warned_for.
  warned integer NOT NULL DEFAULT 0,
  warned_for timestamptz(3),
  -- The subscription's rate_limit.
  rate integer CHECK (rate > 0),
  -- Attempts that could begin at tokens_at, as a fraction; below zero after one that did not have to wait.
  tokens double precision NOT NULL DEFAULT 1,
  tokens_at timestamptz NOT NULL DEFAULT now(),
  in_flight_cap integer NOT NULL DEFAULT 32 CHECK (in_flight_cap BETWEEN 1 AND 1000),
  p90_ms integer,
  updated_at timestamptz(3) NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX endpoints_watched ON endpoints (subscription_id) WHERE watched;

-- Whether attempts may begin. A hold that has run out is open, even before a row says so, and so is an endpoint that is down when its
-- probe is due.
CREATE FUNCTION endpoint_is_open(endpoint endpoints) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT endpoint.active AND NOT endpoint.deleted
    AND coalesce(greatest(endpoint.hold_until, endpoint.tenant_held_until, endpoint.host_held_until) <= now(), true)
    AND (endpoint.state <> 'down' OR endpoint.probe_at <= now())
$function$;

-- When a closed endpoint opens by itself; null when it is open or nobody can say.
CREATE FUNCTION endpoint_opens_at(endpoint endpoints) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.active AND NOT endpoint.deleted AND NOT endpoint_is_open(endpoint)
    THEN nullif(greatest(endpoint.hold_until, endpoint.tenant_held_until, endpoint.host_held_until,
      CASE WHEN endpoint.state = 'down' THEN endpoint.probe_at END), 'infinity') END
$function$;

-- Attempts that a returning endpoint may begin; null when it is not paced. An attempt whose end is not recorded gives its permit back after
-- 30 s: twice the time-out of a send.
CREATE FUNCTION endpoint_permits(endpoint endpoints) RETURNS integer LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.permits = 0 AND endpoint.permits_at < now() - interval '30 seconds' THEN 1 ELSE endpoint.permits END
$function$;

-- Attempts that may begin now at an endpoint with a rate, as a fraction; null without a rate. What is not used is kept for a tenth of a second.
CREATE FUNCTION endpoint_tokens(endpoint endpoints) RETURNS double precision LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.rate IS NOT NULL THEN least(greatest(1, endpoint.rate / 10.0::float8),
    endpoint.tokens + endpoint.rate * greatest(0, extract(epoch FROM now() - endpoint.tokens_at)::float8)) END
$function$;

-- A host to which an operator lets nothing be sent. A writer of a row holds the advisory lock of the host's name; a writer of a subscription
-- to that host shares it.
CREATE TABLE host_holds (
  -- A name, for all its ports, or a name with a port.
  host text PRIMARY KEY,
  -- 'infinity' while nobody can say. A hold that is over stays, as the end of the latest.
  until timestamptz NOT NULL,
  reason text NOT NULL,
  operator text NOT NULL,
  held_at timestamptz(3) NOT NULL DEFAULT now()
);

-- Until when nothing may be sent to this host; null when it was never held.
CREATE FUNCTION host_hold_end(of_host text) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT max(until) FROM host_holds WHERE host IN (of_host, host_name(of_host))
$function$;

-- A replay of many deliveries of one subscription: those that had ended with delivery_status before created_at.
CREATE TABLE recoveries (
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
CREATE INDEX recoveries_by_subscription ON recoveries (tenant_id, subscription_id, id);
CREATE UNIQUE INDEX recoveries_running ON recoveries (subscription_id) WHERE status = 'running';
`;
