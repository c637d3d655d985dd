-- Gives the owner the password of the environment, for psql over the socket: a restored cluster has that of its backup.
\set ON_ERROR_STOP on
\getenv password POSTGRES_PASSWORD
ALTER ROLE countersign PASSWORD :'password';
