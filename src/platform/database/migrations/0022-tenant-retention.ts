// For how long a tenant's rows are kept, where that is shorter than for all; and audit rows whose address can go.

export const tenantRetention = `
-- Days; null: the operator's. events_gone_before, addresses_gone: how far retention has come, and a longer setting brings nothing back.
ALTER TABLE tenants
  ADD COLUMN deliveries_days integer CHECK (deliveries_days > 0),
  ADD COLUMN events_days integer CHECK (events_days > 0),
  ADD COLUMN audit_addresses_days integer CHECK (audit_addresses_days > 0),
  ADD COLUMN events_gone_before timestamptz(3),
  ADD COLUMN addresses_gone uuid;

-- Numbers of deliveries that retention has removed before their partition. A count adds them to the deliveries that are there.
ALTER TABLE delivery_accounts
  ADD COLUMN gone_accepted bigint NOT NULL DEFAULT 0,
  ADD COLUMN gone_delivered bigint NOT NULL DEFAULT 0,
  ADD COLUMN gone_failed bigint NOT NULL DEFAULT 0,
  ADD COLUMN gone_canceled bigint NOT NULL DEFAULT 0,
  ADD COLUMN gone_at timestamptz(3);

-- address, which is hashed, has a digest of the other two, which can go. Null: they went, or the row is from before they were there.
ALTER TABLE audit_log ADD COLUMN client_address text, ADD COLUMN address_salt uuid;

CREATE FUNCTION audit_address(client_address text, salt uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT 'sha256:' || encode(sha256(uuid_send(salt) || convert_to(client_address, 'UTF8')), 'hex')
$function$;

-- The one change of a row, no sooner than half a day after it was written.
CREATE FUNCTION removes_client_address(was audit_log, becomes audit_log) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT was.occurred_at < now() - interval '12 hours' AND becomes.client_address IS NULL AND becomes.address_salt IS NULL
    AND to_jsonb(was) - '{client_address,address_salt}'::text[] = to_jsonb(becomes) - '{client_address,address_salt}'::text[]
$function$;
CREATE OR REPLACE TRIGGER audit_log_append_only BEFORE DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log FOR EACH ROW
  WHEN (removes_client_address(OLD.*, NEW.*) IS NOT TRUE) EXECUTE FUNCTION refuse_change();

-- Removes the addresses of clients from a tenant's next rows, in the order of their ids. Runs with the rights of the tables' owner: the
-- role of api and worker may change no row of the audit log otherwise. latest: the last row that was read, null where there was none.
CREATE FUNCTION remove_client_addresses(tenant uuid, after uuid, days integer, most integer, OUT looked integer, OUT removed integer, OUT latest uuid)
LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
  WITH page AS MATERIALIZED (
    SELECT id FROM audit_log WHERE tenant_id = tenant AND id > after AND id < uuid_of_time(now() - days * interval '1 day')
    ORDER BY id LIMIT most
  ), changed AS (
    UPDATE audit_log l SET client_address = NULL, address_salt = NULL
    FROM page WHERE l.tenant_id = tenant AND l.id = page.id AND l.client_address <> 'local'
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM changed), (SELECT id FROM page ORDER BY id DESC LIMIT 1)
  INTO looked, removed, latest;
END
$function$;
DO $do$
BEGIN
  EXECUTE format('ALTER FUNCTION remove_client_addresses SET search_path = %I, pg_temp', current_schema());
END
$do$;
REVOKE EXECUTE ON FUNCTION remove_client_addresses FROM PUBLIC;
`;
