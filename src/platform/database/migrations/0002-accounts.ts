// The audit log (append-only), idempotency keys and counters of failures.

export const accounts = `
-- xid lets the sealer take only rows whose transactions have all ended.
CREATE TABLE audit_log (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  occurred_at timestamptz(3) NOT NULL DEFAULT now(),
  action text NOT NULL,
  outcome text NOT NULL CHECK (outcome IN ('success', 'failure')),
  reason text,
  actor_kind text NOT NULL,
  actor_id text,
  target_type text,
  target_id text,
  key_id uuid,
  token_id text,
  address text,
  request_id text,
  data jsonb NOT NULL DEFAULT '{}',
  xid xid8 NOT NULL DEFAULT pg_current_xact_id()
);
CREATE INDEX audit_log_by_tenant ON audit_log (tenant_id, id);
CREATE INDEX audit_log_by_target ON audit_log (target_id, id) WHERE target_id IS NOT NULL;

CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '42501';
END
$function$;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- One answered request. Written in the transaction of the work itself; only 2xx answers, without secrets.
CREATE TABLE idempotency_keys (
  tenant_id uuid NOT NULL,
  principal text NOT NULL,
  route text NOT NULL,
  key text NOT NULL,
  request_digest bytea NOT NULL,
  status integer NOT NULL,
  headers jsonb NOT NULL,
  body jsonb,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, principal, route, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);

-- The shape that rate-limiter-flexible's Postgres store works on. UNLOGGED: counters may be lost in a crash, not slow down an answer.
CREATE UNLOGGED TABLE rate_limits (
  key text PRIMARY KEY,
  points integer NOT NULL DEFAULT 0,
  expire bigint
);
CREATE INDEX rate_limits_by_end ON rate_limits (expire);
`;
