// Endpoints of subscriptions, with all that opens and closes them, and holds of hosts.

export const endpoints = `
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
`;
