// The beginning of the audit log: a row that `migrate` signs once, so that nobody else can begin the log anew.

export const auditBeginning = `
-- One row. The first seal names the hash of its signed text.
CREATE TABLE audit_beginning (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  -- So that no two beginnings have the same text.
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- Number of seals of an earlier version, and its last row; null where the log began with the installation.
  adopted_seals bigint,
  adopted_xid xid8,
  adopted_id uuid,
  -- Null until it is signed.
  began_at timestamptz(3),
  key_id text,
  signature bytea
);
INSERT INTO audit_beginning (adopted_seals, adopted_xid, adopted_id)
SELECT CASE WHEN h.n > 0 OR l.id IS NOT NULL THEN h.n END, l.xid, l.id
FROM audit_head h LEFT JOIN LATERAL (SELECT xid, id FROM audit_log ORDER BY xid DESC, id DESC LIMIT 1) l ON true;

CREATE FUNCTION refuse_second_beginning() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF OLD.signature IS NOT NULL THEN RAISE EXCEPTION '% is signed once', TG_TABLE_NAME USING ERRCODE = '42501'; END IF;
  RETURN NEW;
END
$function$;
CREATE TRIGGER audit_beginning_stays BEFORE DELETE OR TRUNCATE ON audit_beginning
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_beginning_once BEFORE UPDATE ON audit_beginning
  FOR EACH ROW EXECUTE FUNCTION refuse_second_beginning();

-- The head keeps its number only when its first signature is made, or one by another key for the same seal.
CREATE OR REPLACE FUNCTION refuse_going_back() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF NEW.n > OLD.n THEN RETURN NEW; END IF;
  IF NEW.n = OLD.n AND NEW.key_id IS DISTINCT FROM OLD.key_id AND (
    OLD.signature IS NULL OR (NEW.hash, NEW.last_xid, NEW.last_id) IS NOT DISTINCT FROM (OLD.hash, OLD.last_xid, OLD.last_id)
  ) THEN RETURN NEW; END IF;
  RAISE EXCEPTION '% only moves on', TG_TABLE_NAME USING ERRCODE = '42501';
END
$function$;
`;
