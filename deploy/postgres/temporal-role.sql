-- Temporal's role and databases, for psql as the superuser; TEMPORAL_DATABASE_PASSWORD is in the environment. It can be repeated, and
-- gives what an earlier deployment has made as the superuser to the role.
\set ON_ERROR_STOP on
\getenv password TEMPORAL_DATABASE_PASSWORD
SELECT 'CREATE ROLE temporal' WHERE NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'temporal') \gexec
ALTER ROLE temporal LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE PASSWORD :'password';
SELECT format('CREATE DATABASE %I', name) FROM unnest('{temporal,temporal_visibility}'::text[]) AS name
WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = name) \gexec
ALTER DATABASE temporal OWNER TO temporal;
ALTER DATABASE temporal_visibility OWNER TO temporal;
REVOKE ALL ON DATABASE countersign, temporal, temporal_visibility FROM PUBLIC;
\connect temporal
\ir temporal-tables.sql
\connect temporal_visibility
\ir temporal-tables.sql
