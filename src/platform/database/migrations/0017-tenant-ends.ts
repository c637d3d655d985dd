// Tenants that end: until when they can come back, and the signed certificates of those that are erased.

export const tenantEnds = `
-- A tenant that ends. The row goes when the tenant is restored, and with the tenant.
CREATE TABLE tenant_ends (
  tenant_id uuid PRIMARY KEY REFERENCES tenants,
  asked_at timestamptz(3) NOT NULL DEFAULT now(),
  -- From then on everything is removed, and nothing can be restored.
  erase_at timestamptz(3) NOT NULL,
  -- It was suspended before it ended, and is again when it is restored.
  was_suspended boolean NOT NULL,
  -- Rows removed so far, by table, and workflows.
  removed jsonb NOT NULL DEFAULT '{}',
  -- When something was removed last.
  removed_at timestamptz(3)
);

-- What was removed of a tenant that is gone, and when. Its slug is never used again.
CREATE TABLE audit_erasures (
  tenant_id uuid PRIMARY KEY,
  slug text NOT NULL CONSTRAINT audit_erasures_slug_unique UNIQUE,
  erased_at timestamptz(3) NOT NULL,
  -- The text that is signed, with a key of the audit log.
  statement text NOT NULL,
  key_id text NOT NULL,
  signature bytea NOT NULL
);
CREATE TRIGGER audit_erasures_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_erasures
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION refuse_erased_slug() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF EXISTS (SELECT FROM audit_erasures WHERE slug = NEW.slug) THEN
    RAISE EXCEPTION 'an erased tenant had this slug' USING ERRCODE = '23505', CONSTRAINT = 'tenants_slug_unique';
  END IF;
  RETURN NEW;
END
$function$;
CREATE TRIGGER tenants_slug_once BEFORE INSERT ON tenants FOR EACH ROW EXECUTE FUNCTION refuse_erased_slug();

-- Rows of the audit log go with their tenant, and only when its time is over.
CREATE OR REPLACE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF TG_TABLE_NAME = 'audit_log' AND TG_LEVEL = 'ROW' AND TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM tenant_ends WHERE tenant_id = OLD.tenant_id AND erase_at <= now()) THEN RETURN OLD; END IF;
  END IF;
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '42501';
END
$function$;

-- Runs with the rights of the tables' owner: the role of api and worker may remove no row of the audit log otherwise.
CREATE FUNCTION erase_audit_rows(tenant uuid, most integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
  gone integer;
BEGIN
  DELETE FROM audit_log WHERE tenant_id = tenant
    AND ctid = ANY (ARRAY(SELECT ctid FROM audit_log WHERE tenant_id = tenant LIMIT most));
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END
$function$;
DO $do$
BEGIN
  EXECUTE format('ALTER FUNCTION erase_audit_rows SET search_path = %I, pg_temp', current_schema());
END
$do$;
REVOKE EXECUTE ON FUNCTION erase_audit_rows FROM PUBLIC;
`;
