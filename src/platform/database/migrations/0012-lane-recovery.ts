// What a lane knows of an endpoint that is down or comes back: when it is probed, and how fast the rest is let out.

export const laneRecovery = `
-- probe_at: while the lane is down, when the next attempt may pass; probe_step: failed probes so far. failing_deliveries: the first three
-- that failed in a row. permits: attempts that may begin still while the lane comes back (null: it is not paced); released: those that
-- succeeded since. permits_at: when that count last moved.
ALTER TABLE lanes
  ADD COLUMN probe_at timestamptz(3),
  ADD COLUMN probe_step integer NOT NULL DEFAULT 0,
  ADD COLUMN failing_deliveries uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN permits integer CHECK (permits >= 0),
  ADD COLUMN permits_at timestamptz(3),
  ADD COLUMN released integer NOT NULL DEFAULT 0;

-- Whether attempts may begin. A hold that has run out is open, whoever looks first, and so is a lane that is down when its probe is due.
CREATE OR REPLACE FUNCTION lane_is_open(lane lanes) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT lane.active AND NOT lane.deleted AND (lane.hold_until IS NULL OR lane.hold_until <= now())
    AND (lane.state <> 'down' OR lane.probe_at <= now())
$function$;

-- When a closed lane opens by itself, null when it is open or nobody can say.
CREATE FUNCTION lane_opens_at(lane lanes) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN lane.active AND NOT lane.deleted AND NOT lane_is_open(lane)
    THEN greatest(lane.hold_until, CASE WHEN lane.state = 'down' THEN lane.probe_at END) END
$function$;

-- Attempts that a lane which comes back may begin; null when it is not paced. One whose end nobody has told gives its permit back after
-- 30 s: twice the time-out of a send.
CREATE FUNCTION lane_permits(lane lanes) RETURNS integer LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN lane.permits = 0 AND lane.permits_at < now() - interval '30 seconds' THEN 1 ELSE lane.permits END
$function$;

-- A lane that is down shows what waits as held, also at the moment of a probe.
CREATE OR REPLACE VIEW delivery_records AS
SELECT d.*,
  CASE
    WHEN d.status IN ('pending', 'retrying') AND l.deleted THEN 'canceled'
    WHEN d.status = 'pending' AND (NOT lane_is_open(l) OR l.state = 'down') THEN 'held'
    ELSE d.status
  END AS shown_status
FROM deliveries d JOIN lanes l ON l.subscription_id = d.subscription_id;
`;
