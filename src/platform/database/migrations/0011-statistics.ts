// What the planner shall believe of tables that are still empty, until Postgres has analyzed their rows.

/**
 * Each connection plans a statement once, perhaps before the first row. Without statistics the planner takes it that one
 * row in 200 has a null or a given value, so that an index of all live rows, or of a tenant's keys, looks as cheap as the
 * key of a row. Here all rows are live, and all keys of one tenant. An older Postgres than 18 takes no statistics.
 */
export const statistics = `
DO $do$
DECLARE
  believed record;
BEGIN
  IF current_setting('server_version_num')::int < 180000 THEN RETURN; END IF;
  FOR believed IN
    SELECT * FROM (VALUES
      ('agents', 'deleted_at', 1.0, 0.0), ('agents', 'status', 0.0, 1.0),
      ('agent_keys', 'tenant_id', 0.0, 1.0), ('agent_keys', 'state', 0.0, 1.0),
      ('applications', 'deleted_at', 1.0, 0.0),
      ('challenges', 'consumed_at', 1.0, 0.0), ('challenges', 'expired_at', 1.0, 0.0),
      ('refresh_tokens', 'revoked_at', 1.0, 0.0), ('refresh_tokens', 'used_at', 1.0, 0.0),
      ('subscriptions', 'deleted_at', 1.0, 0.0)
    ) AS row (relation, attribute, nulls, different)
  LOOP
    PERFORM pg_restore_attribute_stats('schemaname', current_schema()::text, 'relname', believed.relation, 'attname', believed.attribute,
      'inherited', false, 'null_frac', believed.nulls::real, 'avg_width', 16, 'n_distinct', believed.different::real);
  END LOOP;
END
$do$;
`;
