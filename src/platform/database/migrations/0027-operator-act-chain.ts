// The record of operators' acts as a chain: what is edited, or removed at either end, is seen.

export const operatorActChain = `
-- hash: over the hash of the act before and all that the act says. Whoever may write both tables can make another chain: the head is
-- shown with the record, to be compared with what was noted elsewhere.
ALTER TABLE operator_acts ADD COLUMN hash bytea;

CREATE FUNCTION operator_act_hash(previous bytea, act operator_acts) RETURNS bytea LANGUAGE sql STABLE AS $function$
  SELECT sha256(previous || convert_to(json_build_array(act.n, extract(epoch FROM act.at), act.operator, act.action, act.target_type,
    act.target_id, act.reason, act.data, act.tenants)::text, 'UTF8'))
$function$;

-- One row: the number and the hash of the newest act.
CREATE TABLE operator_act_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  n bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL DEFAULT ''
);
INSERT INTO operator_act_head DEFAULT VALUES;

CREATE FUNCTION chain_operator_act() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  SELECT operator_act_hash(head.hash, NEW) INTO STRICT NEW.hash FROM operator_act_head head FOR UPDATE;
  UPDATE operator_act_head SET n = NEW.n, hash = NEW.hash;
  RETURN NEW;
END
$function$;

ALTER TABLE operator_acts DISABLE TRIGGER USER;
DO $do$
DECLARE act operator_acts; last bytea := '';
BEGIN
  FOR act IN SELECT * FROM operator_acts ORDER BY n LOOP
    last := operator_act_hash(last, act);
    UPDATE operator_acts SET hash = last WHERE n = act.n;
    UPDATE operator_act_head SET n = act.n, hash = last;
  END LOOP;
END
$do$;
ALTER TABLE operator_acts ENABLE TRIGGER USER;
ALTER TABLE operator_acts ALTER COLUMN hash SET NOT NULL;
CREATE TRIGGER operator_acts_chain BEFORE INSERT ON operator_acts FOR EACH ROW EXECUTE FUNCTION chain_operator_act();
`;
