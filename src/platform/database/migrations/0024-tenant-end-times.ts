// The role of api and worker cannot bring the end of a tenant forward, and with it the removal of its audit rows.

export const tenantEndTimes = `
-- For 30 days an end shows, and can be taken back: GRACE_DAYS of src/operations/erasure/tenant-end.ts. A row of the audit log goes only
-- when its tenant's time is over (refuse_change), so that time must be nobody's to choose but the owner's.
CREATE FUNCTION refuse_early_end() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $function$
BEGIN
  IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN RETURN NEW; END IF;
  IF TG_OP = 'UPDATE' THEN
    IF (NEW.tenant_id, NEW.asked_at, NEW.erase_at) = (OLD.tenant_id, OLD.asked_at, OLD.erase_at) THEN RETURN NEW; END IF;
  -- A time of milliseconds may be rounded down.
  ELSIF NEW.erase_at > now() + interval '30 days' - interval '1 second' THEN RETURN NEW;
  END IF;
  RAISE EXCEPTION 'a tenant ends 30 days after that is asked for' USING ERRCODE = '42501';
END
$function$;
CREATE TRIGGER tenant_ends_in_time BEFORE INSERT OR UPDATE ON tenant_ends
  FOR EACH ROW EXECUTE FUNCTION refuse_early_end();
`;
