// What an endpoint knows of an endpoint that is down or comes back: when it is probed, and how fast the rest is let out.

export const recoverySettings = `
-- probe_at: while the endpoint is down, when the next attempt may pass; probe_step: failed probes so far. failing_deliveries: the first three
-- that failed in a row. permits: attempts that may begin still while the endpoint comes back (null: it is not paced); released: those that
-- succeeded since. permits_at: when that count last moved.
ALTER TABLE endpoints
  ADD COLUMN probe_at timestamptz(3),
  ADD COLUMN probe_step integer NOT NULL DEFAULT 0,
  ADD COLUMN failing_deliveries uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN permits integer CHECK (permits >= 0),
  ADD COLUMN permits_at timestamptz(3),
  ADD COLUMN released integer NOT NULL DEFAULT 0;

-- Whether attempts may begin. A hold that has run out is open, whoever looks first, and so is an endpoint that is down when its probe is due.
CREATE OR REPLACE FUNCTION endpoint_is_open(endpoint endpoints) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT endpoint.active AND NOT endpoint.deleted AND (endpoint.hold_until IS NULL OR endpoint.hold_until <= now())
    AND (endpoint.state <> 'down' OR endpoint.probe_at <= now())
$function$;

-- When a closed endpoint opens by itself, null when it is open or nobody can say.
CREATE FUNCTION endpoint_opens_at(endpoint endpoints) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.active AND NOT endpoint.deleted AND NOT endpoint_is_open(endpoint)
    THEN greatest(endpoint.hold_until, CASE WHEN endpoint.state = 'down' THEN endpoint.probe_at END) END
$function$;

-- Attempts that an endpoint which comes back may begin; null when it is not paced. One whose end nobody has told gives its permit back after
-- 30 s: twice the time-out of a send.
CREATE FUNCTION endpoint_permits(endpoint endpoints) RETURNS integer LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.permits = 0 AND endpoint.permits_at < now() - interval '30 seconds' THEN 1 ELSE endpoint.permits END
$function$;

-- An endpoint that is down shows what waits as held, also at the moment of a probe.
CREATE OR REPLACE VIEW delivery_records AS
SELECT d.*,
  CASE
    WHEN d.status IN ('pending', 'retrying') AND l.deleted THEN 'canceled'
    WHEN d.status = 'pending' AND (NOT endpoint_is_open(l) OR l.state = 'down') THEN 'held'
    ELSE d.status
  END AS shown_status
FROM deliveries d JOIN endpoints l ON l.subscription_id = d.subscription_id;
`;
