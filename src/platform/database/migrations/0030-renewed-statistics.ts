// What the planner keeps of values of a table can be taken from the rows that the table still has.

export const renewedStatistics = `
-- Runs with the rights of the tables' owner. ANALYZE leaves the sample of a table that has no row any more, so it is removed first; a
-- table that was never analyzed stays so.
CREATE FUNCTION renew_statistics(relation oid) RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $function$
BEGIN
  PERFORM pg_clear_attribute_stats(s.schemaname, s.tablename, s.attname, s.inherited)
  FROM pg_class c JOIN pg_stats s ON s.schemaname = c.relnamespace::regnamespace::text AND s.tablename = c.relname
  WHERE (c.oid = relation OR c.oid IN (SELECT indexrelid FROM pg_index WHERE indrelid = relation))
    AND num_nonnulls(s.most_common_vals, s.histogram_bounds, s.most_common_elems, s.range_bounds_histogram) > 0;
  IF FOUND THEN EXECUTE format('ANALYZE ONLY %s', relation::regclass); END IF;
END
$function$;
REVOKE EXECUTE ON FUNCTION renew_statistics FROM PUBLIC;
`;
