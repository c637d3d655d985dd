// What makes a change of the audit log show: checkpoints of each tenant's rows, seals over the checkpoints, and the head of all seals.

export const auditCheckpoints = `
-- Rows are sealed, and verified, in the order of (xid, id): behind a horizon of finished transactions no row can join it any more.
CREATE INDEX audit_log_by_position ON audit_log (xid, id);
CREATE INDEX audit_log_by_tenant_position ON audit_log (tenant_id, xid, id);

-- What one request, token, key or actor did: without these a page of a rare one would read the tenant's whole log.
CREATE INDEX audit_log_by_request ON audit_log (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX audit_log_by_token ON audit_log (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX audit_log_by_key ON audit_log (key_id, id) WHERE key_id IS NOT NULL;
CREATE INDEX audit_log_by_actor ON audit_log (actor_id, id) WHERE actor_id IS NOT NULL;

-- Public halves only; the private ones are derived from the master key. id: RFC 7638 thumbprint.
CREATE TABLE audit_signing_keys (
  id text PRIMARY KEY,
  public_key bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);

-- One step of the sealer: all rows up to a position, whatever their tenant. tenants, numbers and hashes name its checkpoints.
CREATE TABLE audit_seals (
  n bigint PRIMARY KEY,
  previous bytea NOT NULL,
  count integer NOT NULL,
  last_xid xid8 NOT NULL,
  last_id uuid NOT NULL,
  tenants uuid[] NOT NULL,
  numbers bigint[] NOT NULL,
  hashes bytea[] NOT NULL,
  sealed_at timestamptz(3) NOT NULL,
  key_id text NOT NULL,
  signature bytea NOT NULL
);

-- A tenant's rows in one seal. root: of the Merkle tree over leaves; row_ids and leaves (32 bytes each) tell which row was changed.
CREATE TABLE audit_checkpoints (
  tenant_id uuid NOT NULL,
  n bigint NOT NULL,
  seal bigint NOT NULL,
  count integer NOT NULL,
  total bigint NOT NULL,
  root bytea NOT NULL,
  previous bytea NOT NULL,
  first_xid xid8 NOT NULL,
  first_id uuid NOT NULL,
  last_xid xid8 NOT NULL,
  last_id uuid NOT NULL,
  sealed_at timestamptz(3) NOT NULL,
  key_id text NOT NULL,
  signature bytea NOT NULL,
  row_ids uuid[] NOT NULL,
  leaves bytea NOT NULL,
  PRIMARY KEY (tenant_id, n)
);
-- Hashes do not compress.
ALTER TABLE audit_checkpoints ALTER COLUMN leaves SET STORAGE EXTERNAL;

-- One row: the last seal. It only moves on, so that seals cannot be cut off unseen. signature is null as long as nothing was sealed.
CREATE TABLE audit_head (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  n bigint NOT NULL,
  hash bytea NOT NULL,
  last_xid xid8 NOT NULL,
  last_id uuid NOT NULL,
  key_id text,
  signature bytea
) WITH (fillfactor = 50);
INSERT INTO audit_head (n, hash, last_xid, last_id)
VALUES (0, decode(repeat('00', 32), 'hex'), '0', '00000000-0000-0000-0000-000000000000');

CREATE TRIGGER audit_signing_keys_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_signing_keys
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_seals_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_head_stays BEFORE DELETE OR TRUNCATE ON audit_head
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION refuse_going_back() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF NEW.n <= OLD.n THEN RAISE EXCEPTION '% only moves on', TG_TABLE_NAME USING ERRCODE = '42501'; END IF;
  RETURN NEW;
END
$function$;
CREATE TRIGGER audit_head_moves_on BEFORE UPDATE ON audit_head FOR EACH ROW EXECUTE FUNCTION refuse_going_back();
`;
