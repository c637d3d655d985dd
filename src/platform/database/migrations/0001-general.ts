// General tables: answers that are kept for repeated requests, counters of requests, and commands for workflows.

export const general = `
-- One answered request. It is written in the transaction of the work itself; only 2xx answers, without secrets.
CREATE TABLE idempotency_keys (
  tenant_id uuid NOT NULL,
  principal text NOT NULL,
  route text NOT NULL,
  -- The header Idempotency-Key.
  key text NOT NULL,
  -- SHA-256 of the request: another request with the same key is refused.
  request_digest bytea NOT NULL,
  status integer NOT NULL,
  headers jsonb NOT NULL,
  body jsonb,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, principal, route, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- Counts of requests and failures in a window. UNLOGGED: counters may be lost in a crash, but must not slow an answer down.
CREATE UNLOGGED TABLE rate_limits (
  key text PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  -- Milliseconds since 1970.
  expire bigint
);
CREATE INDEX rate_limits_by_end ON rate_limits (expire);

-- A row asks that the workflow of an entity runs and reads the entity again. It says no more, so that repeating it does no harm.
CREATE TABLE workflow_commands (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id uuid NOT NULL,
  -- Type of the workflow.
  workflow text NOT NULL,
  entity_id uuid NOT NULL,
  tries integer NOT NULL DEFAULT 0,
  -- When a worker may take the command.
  claimable_at timestamptz(3) NOT NULL DEFAULT now(),
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX workflow_commands_claimable ON workflow_commands (claimable_at, id);

-- The id of the master key that a sealed secret names; null where nothing is sealed. A sealed secret is: version (1 byte), length of
-- the id (1 byte), id, ciphertext. Indexes over it find the ids in use at every start, however many secrets there are.
CREATE FUNCTION sealing_key(sealed bytea) RETURNS bytea LANGUAGE sql IMMUTABLE AS $function$
  SELECT CASE WHEN length(sealed) > 2 THEN substring(sealed FROM 3 FOR get_byte(sealed, 1)) END
$function$;
`;
