// Hosts to which an operator lets nothing be sent, whoever subscribes.
import type { MigrationStep } from '../migration-steps.ts';

export const hostHolds: readonly MigrationStep[] = [
  `
-- An IPv4-mapped address is the host that its IPv4 address is: [::ffff:5db8:d822] is 93.184.216.34.
UPDATE subscriptions s SET host = concat(m.high >> 8, '.', m.high & 255, '.', m.low >> 8, '.', m.low & 255, m.port)
FROM (
  SELECT id, ('x' || lpad(part[1], 4, '0'))::bit(16)::int AS high, ('x' || lpad(part[2], 4, '0'))::bit(16)::int AS low, part[3] AS port
  FROM (
    SELECT id, regexp_match(host, '^\\[::ffff:([0-9a-f]{1,4}):([0-9a-f]{1,4})\\](:[0-9]+)?$') AS part
    FROM subscriptions WHERE host LIKE '[::ffff:%'
  ) AS mapped WHERE part IS NOT NULL
) AS m WHERE s.id = m.id;

-- The name of a host without its port.
CREATE FUNCTION host_name(host text) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT regexp_replace(host, ':[0-9]+$', '')
$function$;

-- host: a name, for all its ports, or a name with a port. until: 'infinity' while nobody can say; a hold that is over stays, as the end of
-- the latest. Whoever adds or changes one holds the advisory lock of the host's name, and whoever points a subscription to it shares that.
CREATE TABLE host_holds (
  host text PRIMARY KEY,
  until timestamptz NOT NULL,
  reason text NOT NULL,
  operator text NOT NULL,
  held_at timestamptz(3) NOT NULL DEFAULT now()
);

-- Until when nothing may be sent to this host; null when it was never held.
CREATE FUNCTION host_hold_end(of_host text) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT max(until) FROM host_holds WHERE host IN (of_host, host_name(of_host))
$function$;

-- host_held_until: host_hold_end of the subscription's host, kept in the endpoint so that whoever looks at an endpoint reads one row.
ALTER TABLE endpoints ADD COLUMN host_held_until timestamptz;

CREATE OR REPLACE FUNCTION endpoint_is_open(endpoint endpoints) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT endpoint.active AND NOT endpoint.deleted
    AND coalesce(greatest(endpoint.hold_until, endpoint.tenant_held_until, endpoint.host_held_until) <= now(), true)
    AND (endpoint.state <> 'down' OR endpoint.probe_at <= now())
$function$;

-- When a closed endpoint opens by itself, null when it is open or nobody can say.
CREATE OR REPLACE FUNCTION endpoint_opens_at(endpoint endpoints) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.active AND NOT endpoint.deleted AND NOT endpoint_is_open(endpoint)
    THEN nullif(greatest(endpoint.hold_until, endpoint.tenant_held_until, endpoint.host_held_until,
      CASE WHEN endpoint.state = 'down' THEN endpoint.probe_at END), 'infinity') END
$function$;
`,
  { index: 'subscriptions_by_host', on: 'subscriptions (host_name(host), id) WHERE deleted_at IS NULL' },
];
