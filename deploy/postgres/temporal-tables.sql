-- Gives the tables, views, sequences and functions of this database to the role temporal.
ALTER SCHEMA public OWNER TO temporal;
SELECT format('ALTER TABLE %s OWNER TO temporal', c.oid::regclass) FROM pg_class c
WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v', 'm') AND c.relowner <> 'temporal'::regrole \gexec
SELECT format('ALTER ROUTINE %s OWNER TO temporal', p.oid::regprocedure) FROM pg_proc p
WHERE p.pronamespace = 'public'::regnamespace AND p.proowner <> 'temporal'::regrole
  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e') \gexec
