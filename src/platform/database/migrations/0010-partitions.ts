// The day partitions of events, deliveries and attempts: how one is made, taken out and dropped.

export const partitions = `
-- A statement that waits for the lock of a partitioned table makes all later ones wait behind it. So each of these functions gives up after
-- a quarter of a second, and its caller tries again.

-- Makes the partition of one day. Rows of that day that are in the default partition move into it.
CREATE FUNCTION ensure_day_partition(parent text, day date) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '250ms' AS $function$
DECLARE
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
  spare text := parent || '_default';
  key text := CASE parent WHEN 'attempts' THEN 'delivery_id' ELSE 'id' END;
  low uuid := uuid_of_time(day::timestamp AT TIME ZONE 'UTC');
  high uuid := uuid_of_time((day + 1)::timestamp AT TIME ZONE 'UTC');
BEGIN
  IF to_regclass(child) IS NOT NULL THEN RETURN false; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('ensure_day_partition'));
  IF to_regclass(child) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', child, parent);
  IF parent <> 'events' THEN
    EXECUTE format('ALTER TABLE %I SET (fillfactor = 80)', child);
  END IF;
  EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) INSERT INTO %I SELECT * FROM moved', spare, key, low, key, high, child);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, low, high);
  RETURN true;
END
$function$;

-- Takes a day out of its table, so that it can be dropped without a lock on the table. Default partitions forbid DETACH CONCURRENTLY.
-- 'unfinished': it holds deliveries that have not ended, and stays; 'gone': there is no such partition.
CREATE FUNCTION detach_day_partition(parent text, day date) RETURNS text LANGUAGE plpgsql SET lock_timeout = '250ms' AS $function$
DECLARE
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
  ask text := format('SELECT EXISTS (SELECT 1 FROM ONLY %I WHERE status IN (''pending'', ''retrying''))', child);
  unfinished boolean := false;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ensure_day_partition'));
  IF to_regclass(child) IS NULL THEN RETURN 'gone'; END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(child) AND inhparent = to_regclass(parent)) THEN
    RETURN 'detached';
  END IF;
  IF parent = 'deliveries' THEN
    EXECUTE ask INTO unfinished;
    IF unfinished THEN RETURN 'unfinished'; END IF;
  END IF;
  EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', parent);
  IF parent = 'deliveries' THEN
    EXECUTE ask INTO unfinished;
    IF unfinished THEN RETURN 'unfinished'; END IF;
  END IF;
  EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, child);
  RETURN 'detached';
END
$function$;

-- Drops a day that was taken out; false when there is none.
CREATE FUNCTION drop_detached_day(parent text, day date) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '250ms' AS $function$
DECLARE
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
BEGIN
  IF to_regclass(child) IS NULL OR EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(child)) THEN RETURN false; END IF;
  EXECUTE format('DROP TABLE %I', child);
  RETURN true;
END
$function$;

-- The one thing that a role without the tables must do to their schema.
-- Runs with the rights of the tables' owner, so that the role of api and worker can keep the days and change nothing else of the schema.
-- A table that its caller made must never be reached by these rights: the names of the tables are given, and temporary ones come last.
CREATE FUNCTION keep_day_partition(step text, parent text, day date) RETURNS text LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
  IF parent IS NULL OR parent NOT IN ('events', 'deliveries', 'attempts') THEN
    RAISE EXCEPTION '% has no days', parent USING ERRCODE = '42501';
  END IF;
  RETURN CASE step
    WHEN 'ensure' THEN ensure_day_partition(parent, day)::text
    WHEN 'detach' THEN detach_day_partition(parent, day)
    WHEN 'drop' THEN drop_detached_day(parent, day)::text
  END;
END
$function$;
DO $do$
BEGIN
  EXECUTE format('ALTER FUNCTION keep_day_partition SET search_path = %I, pg_temp', current_schema());
END
$do$;
REVOKE EXECUTE ON FUNCTION keep_day_partition FROM PUBLIC;
`;
