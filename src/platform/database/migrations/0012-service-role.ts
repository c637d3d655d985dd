// The one thing that a role without the tables must do to their schema: the days of events, deliveries and attempts.

export const serviceRole = `
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
