// What an operator does across tenants: every act on record, and the suspension of a tenant.

export const tenantSuspension = `
-- One act of whoever runs the service. n has no gaps, so that a row that is missing is seen; in the audit log of each tenant that the
-- act concerned stands an entry which names n.
CREATE TABLE operator_acts (
  n bigint PRIMARY KEY CHECK (n > 0),
  at timestamptz(3) NOT NULL DEFAULT now(),
  operator text NOT NULL,
  action text NOT NULL,
  target_type text NOT NULL,
  target_id text NOT NULL,
  reason text NOT NULL,
  data jsonb NOT NULL DEFAULT '{}',
  tenants integer NOT NULL
);
CREATE TRIGGER operator_acts_append_only BEFORE UPDATE OR DELETE ON operator_acts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER operator_acts_no_truncate BEFORE TRUNCATE ON operator_acts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- suspended_at: since when, null while it is not. resumed_at: end of the latest suspension; no token from before it is good again.
ALTER TABLE tenants
  ADD COLUMN suspended_at timestamptz(3),
  ADD COLUMN resumed_at timestamptz(3);

-- tenant_held_until: 'infinity' while the endpoint's tenant is suspended, afterwards when that ended. Kept in the endpoint, so that whoever looks
-- at an endpoint reads one row.
ALTER TABLE endpoints ADD COLUMN tenant_held_until timestamptz;

CREATE OR REPLACE FUNCTION endpoint_is_open(endpoint endpoints) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT endpoint.active AND NOT endpoint.deleted AND coalesce(greatest(endpoint.hold_until, endpoint.tenant_held_until) <= now(), true)
    AND (endpoint.state <> 'down' OR endpoint.probe_at <= now())
$function$;

-- When a closed endpoint opens by itself, null when it is open or nobody can say.
CREATE OR REPLACE FUNCTION endpoint_opens_at(endpoint endpoints) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.active AND NOT endpoint.deleted AND NOT endpoint_is_open(endpoint)
    THEN nullif(greatest(endpoint.hold_until, endpoint.tenant_held_until, CASE WHEN endpoint.state = 'down' THEN endpoint.probe_at END), 'infinity') END
$function$;
`;
