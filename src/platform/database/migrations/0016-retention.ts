// What retention needs: old days leave without standing in anybody's way, and each day's deliveries are accounted for.

export const retention = `
-- Whoever waits for the lock of a partitioned table keeps everybody behind him waiting: for a moment only, then he tries again later.
ALTER FUNCTION ensure_day_partition(text, date) SET lock_timeout = '250ms';

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

-- deliveries: how many the event was fanned out to, told by whoever accepted it; null where nobody told. It is what the rows of
-- deliveries are held against, so it must never be computed from them.
ALTER TABLE events ADD COLUMN deliveries integer;
ALTER TABLE events DROP CONSTRAINT events_pkey;
ALTER TABLE events ADD CONSTRAINT events_pkey PRIMARY KEY (id) INCLUDE (tenant_id, deliveries);

-- A tenant's deliveries by the UTC day of acceptance, as they were counted last. stranded: not ended, and nothing is going to move them.
CREATE TABLE delivery_accounts (
  tenant_id uuid NOT NULL,
  day date NOT NULL,
  accepted bigint NOT NULL,
  delivered bigint NOT NULL,
  waiting bigint NOT NULL,
  held bigint NOT NULL,
  failed bigint NOT NULL,
  canceled bigint NOT NULL,
  stranded bigint NOT NULL,
  difference bigint GENERATED ALWAYS AS (accepted - delivered - waiting - held - failed - canceled) STORED,
  counted_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, day)
);
CREATE INDEX delivery_accounts_by_day ON delivery_accounts (day);
CREATE INDEX delivery_accounts_wrong ON delivery_accounts (day) WHERE difference <> 0;

-- When a day was counted last, whether or not any tenant had deliveries.
CREATE TABLE delivery_account_days (
  day date PRIMARY KEY,
  counted_at timestamptz(3) NOT NULL,
  took_ms integer NOT NULL
);
`;
