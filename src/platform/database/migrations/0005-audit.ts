// The audit log with its checkpoints and seals, and the operator acts: their rows are only added, so that a change is
// detected.

export const audit = `
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  RAISE EXCEPTION '% is append-only', TG_TABLE_NAME USING ERRCODE = '42501';
END
$function$;

-- Rows are sealed, and verified, in the order of (xid, id): behind a horizon of finished transactions no row can join it any more.
CREATE TABLE audit_log (
  id uuid NOT NULL,
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
  -- jti of the token.
  token_id text,
  -- IP address of the client.
  address text,
  request_id text,
  data jsonb NOT NULL DEFAULT '{}',
  -- The writing transaction.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  -- A tenant's pages and its single rows.
  PRIMARY KEY (tenant_id, id)
);
-- The sealer.
CREATE INDEX audit_log_by_position ON audit_log (xid, id);
-- The verification of a tenant.
CREATE INDEX audit_log_by_tenant_position ON audit_log (tenant_id, xid, id);
-- Without these five a page of a rare target, request, token, key or actor would read the tenant's whole log.
CREATE INDEX audit_log_by_target ON audit_log (target_id, id) WHERE target_id IS NOT NULL;
CREATE INDEX audit_log_by_request ON audit_log (request_id) WHERE request_id IS NOT NULL;
CREATE INDEX audit_log_by_token ON audit_log (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX audit_log_by_key ON audit_log (key_id, id) WHERE key_id IS NOT NULL;
-- Where the actor is the target, as in each record of a token, by_target finds it.
CREATE INDEX audit_log_by_actor ON audit_log (actor_id, id) WHERE actor_id IS NOT NULL AND actor_id IS DISTINCT FROM target_id;
CREATE TRIGGER audit_log_append_only BEFORE UPDATE OR DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE TABLE audit_signing_keys (
  -- RFC 7638 thumbprint.
  id text PRIMARY KEY,
  -- The private half is stored nowhere: it is derived from the master key.
  public_key bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE TRIGGER audit_signing_keys_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_signing_keys
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- One step of the sealer: all rows of all tenants up to a position.
CREATE TABLE audit_seals (
  n bigint PRIMARY KEY,
  -- Hash of the seal before.
  previous bytea NOT NULL,
  count integer NOT NULL,
  -- Position of the last row.
  last_xid xid8 NOT NULL,
  last_id uuid NOT NULL,
  -- The seal's checkpoints: tenant, number and hash of each, in one order.
  tenants uuid[] NOT NULL,
  numbers bigint[] NOT NULL,
  hashes bytea[] NOT NULL,
  sealed_at timestamptz(3) NOT NULL,
  key_id text NOT NULL,
  signature bytea NOT NULL
);
CREATE TRIGGER audit_seals_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_seals
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- A tenant's rows in one seal: the part that they add to the tenant's growing Merkle tree.
CREATE TABLE audit_checkpoints (
  tenant_id uuid NOT NULL,
  n bigint NOT NULL,
  seal bigint NOT NULL,
  count integer NOT NULL,
  -- Leaves of the tenant's tree up to and with this checkpoint: rows of this and all earlier checkpoints of the tenant.
  tree_size bigint NOT NULL,
  -- Root of the tree.
  root bytea NOT NULL,
  -- Hash of the tenant's checkpoint before.
  previous bytea NOT NULL,
  first_xid xid8 NOT NULL,
  first_id uuid NOT NULL,
  last_xid xid8 NOT NULL,
  last_id uuid NOT NULL,
  sealed_at timestamptz(3) NOT NULL,
  key_id text NOT NULL,
  signature bytea NOT NULL,
  -- With leaves (32 bytes each) they tell which row was changed.
  row_ids uuid[] NOT NULL,
  leaves bytea NOT NULL,
  -- Roots of the tree's complete subtrees, with which the next checkpoint goes on: at most one for each bit of tree_size.
  peaks bytea NOT NULL,
  -- Roots of subtrees of at least 8 leaves that this checkpoint's rows completed, for proofs.
  nodes bytea NOT NULL,
  PRIMARY KEY (tenant_id, n)
);
-- Hashes do not compress.
ALTER TABLE audit_checkpoints ALTER COLUMN leaves SET STORAGE EXTERNAL, ALTER COLUMN peaks SET STORAGE EXTERNAL,
  ALTER COLUMN nodes SET STORAGE EXTERNAL;
-- Finds the checkpoint of a leaf.
CREATE INDEX audit_checkpoints_by_tree ON audit_checkpoints (tenant_id, tree_size);
-- Finds the checkpoint of a row.
CREATE INDEX audit_checkpoints_by_position ON audit_checkpoints (tenant_id, last_xid, last_id);
CREATE TRIGGER audit_checkpoints_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_checkpoints
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- How many nodes the first leaves of a tree complete.
CREATE FUNCTION audit_tree_nodes(leaves bigint) RETURNS bigint LANGUAGE sql IMMUTABLE AS $function$
  SELECT coalesce(sum(leaves >> level), 0)::bigint FROM generate_series(3, 62) AS level
$function$;

-- One row: the last seal. It only moves on, so that seals cannot be cut off at the end without a trace.
CREATE TABLE audit_head (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  n bigint NOT NULL,
  hash bytea NOT NULL,
  last_xid xid8 NOT NULL,
  last_id uuid NOT NULL,
  key_id text,
  -- Null until migrate signs the beginning.
  signature bytea
) WITH (fillfactor = 50);
INSERT INTO audit_head (n, hash, last_xid, last_id)
VALUES (0, decode(repeat('00', 32), 'hex'), '0', '00000000-0000-0000-0000-000000000000');
CREATE TRIGGER audit_head_stays BEFORE DELETE OR TRUNCATE ON audit_head
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- The head keeps its number only when its first signature is made, or one by another key for the same seal.
CREATE FUNCTION refuse_going_back() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF NEW.n > OLD.n THEN RETURN NEW; END IF;
  IF NEW.n = OLD.n AND NEW.key_id IS DISTINCT FROM OLD.key_id AND (
    OLD.signature IS NULL OR (NEW.hash, NEW.last_xid, NEW.last_id) IS NOT DISTINCT FROM (OLD.hash, OLD.last_xid, OLD.last_id)
  ) THEN RETURN NEW; END IF;
  RAISE EXCEPTION '% only moves on', TG_TABLE_NAME USING ERRCODE = '42501';
END
$function$;
CREATE TRIGGER audit_head_moves_on BEFORE UPDATE ON audit_head FOR EACH ROW EXECUTE FUNCTION refuse_going_back();

-- One row, which migrate signs once, so that nobody else can begin the log anew. The first seal names the hash of its signed text.
CREATE TABLE audit_beginning (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  -- So that no two beginnings have the same text.
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  -- Null until it is signed.
  began_at timestamptz(3),
  key_id text,
  signature bytea
);
INSERT INTO audit_beginning DEFAULT VALUES;

CREATE FUNCTION refuse_second_beginning() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF OLD.signature IS NOT NULL THEN RAISE EXCEPTION '% is signed once', TG_TABLE_NAME USING ERRCODE = '42501'; END IF;
  RETURN NEW;
END
$function$;
CREATE TRIGGER audit_beginning_stays BEFORE DELETE OR TRUNCATE ON audit_beginning
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_beginning_once BEFORE UPDATE ON audit_beginning
  FOR EACH ROW EXECUTE FUNCTION refuse_second_beginning();

-- One act of an operator of the service. The audit log of each tenant that the act concerned has an entry which names n.
CREATE TABLE operator_acts (
  -- Without gaps: a row that is missing shows.
  n bigint PRIMARY KEY CHECK (n > 0),
  at timestamptz(3) NOT NULL DEFAULT now(),
  operator text NOT NULL,
  action text NOT NULL,
  target_type text NOT NULL,
  target_id text NOT NULL,
  reason text NOT NULL,
  data jsonb NOT NULL DEFAULT '{}',
  -- Number of tenants that the act concerned.
  tenants integer NOT NULL,
  -- Over the hash of the act before and all other columns. A writer of both tables can make another chain: the head is shown with the
  -- record, to be compared with what was noted elsewhere.
  hash bytea NOT NULL
);
CREATE TRIGGER operator_acts_append_only BEFORE UPDATE OR DELETE ON operator_acts FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER operator_acts_no_truncate BEFORE TRUNCATE ON operator_acts FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

-- One row: number and hash of the newest act.
CREATE TABLE operator_act_head (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  n bigint NOT NULL DEFAULT 0,
  hash bytea NOT NULL DEFAULT ''
);
INSERT INTO operator_act_head DEFAULT VALUES;

CREATE FUNCTION operator_act_hash(previous bytea, act operator_acts) RETURNS bytea LANGUAGE sql STABLE AS $function$
  SELECT sha256(previous || convert_to(json_build_array(act.n, extract(epoch FROM act.at), act.operator, act.action, act.target_type,
    act.target_id, act.reason, act.data, act.tenants)::text, 'UTF8'))
$function$;

CREATE FUNCTION chain_operator_act() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  SELECT operator_act_hash(head.hash, NEW) INTO STRICT NEW.hash FROM operator_act_head head FOR UPDATE;
  UPDATE operator_act_head SET n = NEW.n, hash = NEW.hash;
  RETURN NEW;
END
$function$;
CREATE TRIGGER operator_acts_chain BEFORE INSERT ON operator_acts FOR EACH ROW EXECUTE FUNCTION chain_operator_act();
`;
