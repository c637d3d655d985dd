// The schema of 0.2.0, whole. Later migrations add to it; this file stays as it is.

export const initial = `
-- ═══ General: answers that are kept for repeated requests, counters of requests, and commands for workflows ═══

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

-- ═══ Identity: tenants, agents with their keys, rotations, enrollment tokens and anchors, applications with their secrets ═══

CREATE TABLE tenants (
  id uuid PRIMARY KEY,
  slug text NOT NULL CONSTRAINT tenants_slug_unique UNIQUE CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  name text NOT NULL,
  -- Default audience of the tenant's tokens; null: base_url.
  audience text,
  signing_algorithm text NOT NULL DEFAULT 'ES256' CHECK (signing_algorithm IN ('ES256', 'EdDSA')),
  -- fapi2: every token is bound to a key, and clients authenticate with private_key_jwt.
  security_profile text NOT NULL DEFAULT 'none' CHECK (security_profile IN ('none', 'fapi2')),
  base_url text NOT NULL CONSTRAINT tenants_base_url_unique UNIQUE,
  issuer_url text NOT NULL CONSTRAINT tenants_issuer_url_unique UNIQUE,
  -- Since when the tenant is suspended; null while it is not.
  suspended_at timestamptz(3),
  -- End of the latest suspension: no token from before it is valid again.
  resumed_at timestamptz(3),
  -- For how many days rows are kept; null: the operator's setting.
  deliveries_days integer CHECK (deliveries_days > 0),
  events_days integer CHECK (events_days > 0),
  audit_addresses_days integer CHECK (audit_addresses_days > 0),
  -- How far retention has come. A longer setting brings nothing back.
  events_gone_before timestamptz(3),
  addresses_gone uuid,
  -- How many subscriptions the tenant may have; null: the operator's setting.
  subscription_limit integer CHECK (subscription_limit > 0),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE agents (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  name text NOT NULL,
  description text,
  -- Who answers for the agent: a person or team in the tenant's own words; nothing refers to it.
  owner text,
  -- Why the agent exists.
  purpose text,
  capabilities text[] NOT NULL DEFAULT '{}',
  -- Whether it has ever had a capability, and the scopes that it had before: who acts as the agent needs what it has had.
  had_capabilities boolean NOT NULL DEFAULT false,
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  -- Default audience of the agent's tokens; null: the tenant's.
  audience text,
  -- Further audiences that the agent may ask for.
  audiences text[] NOT NULL DEFAULT '{}',
  scopes text[] NOT NULL,
  had_scopes text[] NOT NULL DEFAULT '{}',
  -- Whether a token is issued only with a proof of a key (RFC 9449 §5.2).
  dpop_bound_access_tokens boolean NOT NULL DEFAULT false,
  metadata jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE INDEX agents_by_tenant ON agents (tenant_id, id) WHERE deleted_at IS NULL;

-- Rows of revoked keys outlive their agent: a revoked fingerprint stays taken.
CREATE TABLE agent_keys (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  algorithm text NOT NULL CHECK (algorithm IN ('ed25519', 'es256', 'es256k', 'bip340')),
  -- The raw bytes that the fingerprint is over.
  public_key bytea NOT NULL,
  fingerprint text NOT NULL CHECK (fingerprint ~ '^[0-9a-f]{64}$'),
  -- Hex SHA-256 of the SPKI DER and of the compressed point; of bip340 keys then the same of the point with an odd y.
  aliases text[] NOT NULL DEFAULT '{}',
  jwk_thumbprint text,
  label text,
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'deprecated', 'revoked')),
  verified_at timestamptz(3),
  -- The first challenge that the key answered. A proof of possession verifies a key and does not use it.
  first_used_at timestamptz(3),
  -- Written at most once a minute.
  last_used_at timestamptz(3),
  deprecated_at timestamptz(3),
  -- A deprecated key counts as revoked from then on, even before its state says so.
  sunset_at timestamptz(3),
  revoked_at timestamptz(3),
  revoked_reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT agent_keys_fingerprint_unique UNIQUE (tenant_id, fingerprint)
);
CREATE INDEX agent_keys_by_agent ON agent_keys (agent_id, id);
CREATE INDEX agent_keys_by_spki ON agent_keys (tenant_id, (aliases[1]));
CREATE INDEX agent_keys_by_point ON agent_keys (tenant_id, (aliases[2]));
CREATE INDEX agent_keys_by_odd_spki ON agent_keys (tenant_id, (aliases[3])) WHERE aliases[3] IS NOT NULL;
CREATE INDEX agent_keys_by_odd_point ON agent_keys (tenant_id, (aliases[4])) WHERE aliases[4] IS NOT NULL;
-- Keys that have a workflow.
CREATE INDEX agent_keys_deprecated ON agent_keys (id) WHERE state = 'deprecated';

-- A signature with which a key stands in the tenant's directory of Web Bot Auth. It goes with its key.
CREATE TABLE directory_signatures (
  key_id uuid PRIMARY KEY REFERENCES agent_keys ON DELETE CASCADE,
  tenant_id uuid NOT NULL REFERENCES tenants,
  -- The covered components and the parameters as they were signed (RFC 9421, section 2.3).
  input text NOT NULL,
  signature bytea NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX directory_signatures_by_tenant ON directory_signatures (tenant_id, key_id);

-- A rotation is decided by this row, whether or not its workflow runs. The sunset is the old key's, in agent_keys.
CREATE TABLE key_rotations (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  old_key_id uuid NOT NULL REFERENCES agent_keys ON DELETE CASCADE,
  new_key_id uuid NOT NULL CONSTRAINT key_rotations_new_key_unique UNIQUE REFERENCES agent_keys ON DELETE CASCADE,
  state text NOT NULL CHECK (state IN ('waiting_for_switch', 'overlapping', 'completed', 'canceled', 'aborted')),
  end_reason text,
  -- Seconds for which the old key stays valid after the switch.
  overlap_seconds integer NOT NULL CHECK (overlap_seconds > 0),
  -- Without a switch until then the rotation has stalled, and one warning is given.
  deadline_at timestamptz(3) NOT NULL,
  -- When the agent first used the new key.
  switched_at timestamptz(3),
  stalled_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  ended_at timestamptz(3),
  CHECK ((ended_at IS NULL) = (state IN ('waiting_for_switch', 'overlapping'))),
  CHECK ((ended_at IS NULL) = (end_reason IS NULL))
);
CREATE INDEX key_rotations_by_agent ON key_rotations (agent_id, id);
CREATE INDEX key_rotations_by_old_key ON key_rotations (old_key_id, id);
CREATE UNIQUE INDEX key_rotations_open ON key_rotations (old_key_id) WHERE ended_at IS NULL;

-- An enrollment token lets an agent register one key by itself.
CREATE TABLE enrollment_tokens (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  -- SHA-256 of the token's text.
  hash bytea NOT NULL CONSTRAINT enrollment_tokens_hash_unique UNIQUE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  used_at timestamptz(3),
  -- The key that was registered with it; that row may be gone since.
  key_id uuid,
  revoked_at timestamptz(3),
  CONSTRAINT enrollment_tokens_use CHECK (key_id IS NULL OR used_at IS NOT NULL),
  CONSTRAINT enrollment_tokens_one_end CHECK (used_at IS NULL OR revoked_at IS NULL)
);
CREATE INDEX enrollment_tokens_by_agent ON enrollment_tokens (agent_id, id);
CREATE INDEX enrollment_tokens_by_end ON enrollment_tokens (expires_at);

-- An anchor is a domain name that an agent's owner proves to control.
CREATE TABLE anchors (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  type text NOT NULL CHECK (type IN ('domain_https', 'domain_dns')),
  -- The domain name, in lower case and A-labels.
  value text NOT NULL,
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'verified', 'failed', 'revoked')),
  -- The text that must be found at the domain; nobody can guess it.
  proof text NOT NULL,
  -- Until when a pending anchor may become verified.
  expires_at timestamptz(3) NOT NULL,
  verified_at timestamptz(3),
  revoked_at timestamptz(3),
  next_check_at timestamptz(3) NOT NULL,
  -- When somebody asked for a check before next_check_at.
  requested_at timestamptz(3),
  -- When the latest check began.
  looked_at timestamptz(3),
  -- When a check was last put off, because the host is held or the tenant suspended; null once one has begun.
  put_off_at timestamptz(3),
  -- Number of checks whose outcome was recorded.
  checks integer NOT NULL DEFAULT 0,
  last_checked_at timestamptz(3),
  -- 'found', or the code of what was wrong.
  last_outcome text,
  last_found_at timestamptz(3),
  -- Of a verified anchor: checks since last_found_at that did not find the proof, and the time of the first of them.
  misses integer NOT NULL DEFAULT 0,
  missing_since timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT anchors_verified_at CHECK (status <> 'verified' OR verified_at IS NOT NULL),
  CONSTRAINT anchors_revoked_at CHECK ((status = 'revoked') = (revoked_at IS NOT NULL)),
  CONSTRAINT anchors_missing_since CHECK ((missing_since IS NULL) = (misses = 0))
);
CREATE INDEX anchors_by_agent ON anchors (agent_id, id);
CREATE UNIQUE INDEX anchors_live_unique ON anchors (agent_id, type, value) WHERE status IN ('pending', 'verified');
-- Anchors that have a workflow.
CREATE INDEX anchors_live ON anchors (id) WHERE status IN ('pending', 'verified');
CREATE INDEX anchors_live_by_tenant ON anchors (tenant_id) WHERE status IN ('pending', 'verified');
-- Anchors that have ended too: their checks count for the pace of the domain.
CREATE INDEX anchors_by_domain ON anchors (tenant_id, value, looked_at);

-- Anchors of agents that exist. A pending anchor whose time is over has failed, even before its status says so.
CREATE VIEW anchor_records AS
SELECT anchor.id, anchor.tenant_id, anchor.agent_id, anchor.type, anchor.value,
       CASE WHEN anchor.status = 'pending' AND anchor.expires_at <= now() THEN 'failed' ELSE anchor.status END AS status,
       anchor.proof, anchor.expires_at, anchor.verified_at, anchor.revoked_at, anchor.created_at,
       anchor.next_check_at, anchor.last_checked_at, anchor.last_outcome, anchor.missing_since
FROM anchors anchor
JOIN agents agent ON agent.id = anchor.agent_id
WHERE agent.deleted_at IS NULL;

CREATE TABLE applications (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  name text NOT NULL,
  audience text,
  scopes text[] NOT NULL,
  -- As in agents.
  had_scopes text[] NOT NULL DEFAULT '{}',
  grant_types text[] NOT NULL,
  -- As in agents.
  dpop_bound_access_tokens boolean NOT NULL DEFAULT false,
  -- Public keys with which the application may authenticate (RFC 7523), as {"keys": […]}.
  jwks jsonb,
  agent_id uuid REFERENCES agents,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE INDEX applications_by_tenant ON applications (tenant_id, id) WHERE deleted_at IS NULL;

CREATE TABLE application_secrets (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  application_id uuid NOT NULL REFERENCES applications,
  -- SHA-256 of the secret's text, which is shown once and stored nowhere.
  hash bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3)
);
CREATE INDEX application_secrets_by_application ON application_secrets (application_id);

-- ═══ Issuers: keys of the tenants as issuers, and the issuers that they trust ═══

-- A key with which a tenant's tokens are signed. It is published from created_at to remove_at.
CREATE TABLE issuer_keys (
  -- The name that the revocation feed gives the key.
  id uuid NOT NULL UNIQUE,
  kid text PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  algorithm text NOT NULL CHECK (algorithm IN ('ES256', 'EdDSA')),
  public_jwk jsonb NOT NULL,
  -- PKCS #8 DER, sealed with a master key; null once the key signs no more.
  private_sealed bytea,
  -- The key for deliveries that lives and ends with the issuer key.
  delivery_jwk jsonb,
  -- PKCS #8 DER, sealed with a master key; kept until the issuer key is removed, and null once it is revoked.
  delivery_sealed bytea,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- When the key begins to sign.
  activate_at timestamptz(3) NOT NULL,
  -- When the next key begins to sign; null while there is none: the last key signs as long as it is the last.
  retire_at timestamptz(3),
  -- When no token that the key has signed is valid any more.
  remove_at timestamptz(3),
  -- From then on the key is not published, and its tokens are refused.
  revoked_at timestamptz(3)
);
CREATE INDEX issuer_keys_by_tenant ON issuer_keys (tenant_id, activate_at);
CREATE INDEX issuer_keys_by_sealing_key ON issuer_keys (sealing_key(private_sealed), id) WHERE private_sealed IS NOT NULL;
CREATE INDEX issuer_keys_by_delivery_sealing_key ON issuer_keys (sealing_key(delivery_sealed), id) WHERE delivery_sealed IS NOT NULL;

-- Keys that sign security event tokens and nothing else; the columns are those of issuer_keys. The table is another one, so that no
-- statement takes one of these keys for a key of access tokens.
CREATE TABLE event_keys (
  id uuid NOT NULL UNIQUE,
  kid text PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  algorithm text NOT NULL CHECK (algorithm = 'RS256'),
  public_jwk jsonb NOT NULL,
  private_sealed bytea,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  activate_at timestamptz(3) NOT NULL,
  retire_at timestamptz(3),
  remove_at timestamptz(3),
  revoked_at timestamptz(3)
);
CREATE INDEX event_keys_by_tenant ON event_keys (tenant_id, activate_at);
CREATE INDEX event_keys_by_sealing_key ON event_keys (sealing_key(private_sealed), id) WHERE private_sealed IS NOT NULL;

-- An issuer whose users' tokens a tenant accepts.
CREATE TABLE trusted_issuers (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  issuer text NOT NULL,
  -- Exactly one of these two gives the issuer's keys; jwks holds public keys only.
  jwks_uri text,
  jwks jsonb,
  -- The latest fetch from jwks_uri, and what it met; fetch_error is null when it got keys.
  fetched_at timestamptz(3),
  fetch_error text,
  audiences text[] NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT trusted_issuers_issuer_unique UNIQUE (tenant_id, issuer),
  CONSTRAINT trusted_issuers_one_source CHECK ((jwks_uri IS NULL) <> (jwks IS NULL))
);
CREATE INDEX trusted_issuers_by_tenant ON trusted_issuers (tenant_id, id);

-- An issuer whose assertions name workloads, each of which gets tokens as an agent.
CREATE TABLE workload_issuers (
  -- Also the client_id of the tokens that its assertions got.
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  -- The iss of its assertions, or spiffe://<trust domain>.
  issuer text NOT NULL,
  -- Exactly one of these two gives the issuer's keys; jwks holds public keys only.
  jwks_uri text,
  jwks jsonb,
  -- The latest fetch from jwks_uri, and what it met; fetch_error is null when it got keys.
  fetched_at timestamptz(3),
  fetch_error text,
  audiences text[] NOT NULL,
  -- A list of {agentId, claims}: the first that fits an assertion names its agent.
  rules jsonb NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT workload_issuers_issuer_unique UNIQUE (tenant_id, issuer),
  CONSTRAINT workload_issuers_one_source CHECK ((jwks_uri IS NULL) <> (jwks IS NULL))
);
CREATE INDEX workload_issuers_by_tenant ON workload_issuers (tenant_id, id);

-- A used assertion. Never UNLOGGED: after a crash every assertion that has not expired could be used again.
CREATE TABLE workload_assertions (
  tenant_id uuid NOT NULL,
  -- SHA-256 of its issuer and its jti, or of what is signed where it has no jti. A new row of the issuer changes nothing.
  hash bytea NOT NULL CHECK (octet_length(hash) = 32),
  -- SHA-256 of the request that used it: the same request, sent again after a lost answer, is known.
  request bytea,
  repeats smallint NOT NULL DEFAULT 0,
  used_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, hash)
);
CREATE INDEX workload_assertions_by_end ON workload_assertions (expires_at);

-- ═══ Authentication: challenges, tokens and their ends, used proofs and assertions, users, delegations, console sessions ═══

-- No index is on a column that changes: using or expiring a challenge writes to none.
CREATE TABLE challenges (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  key_id uuid NOT NULL,
  -- As it was asked for: it may be an alias.
  key_fingerprint text NOT NULL,
  algorithm text NOT NULL,
  nonce bytea NOT NULL,
  audience text NOT NULL,
  scopes text[] NOT NULL,
  -- Audience of the access token that was asked for; null: the agent's default.
  token_audience text,
  -- These two are whole seconds.
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  consumed_at timestamptz(3),
  -- When the sweep marked the challenge; it has ended at expires_at.
  expired_at timestamptz(3)
) WITH (fillfactor = 80);
CREATE INDEX challenges_by_end ON challenges (expires_at);

-- One row: how far the sweep of expired challenges has come.
CREATE TABLE challenge_sweep (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  -- Every challenge that ended before is consumed or marked as expired.
  swept_until timestamptz(3) NOT NULL DEFAULT '-infinity',
  -- End of the latest bucket of time whose counts are all in the audit log.
  audited_until timestamptz(3) NOT NULL DEFAULT '-infinity',
  -- End of the bucket whose counts were written last, and the last tenant that is done for it.
  auditing_until timestamptz(3) NOT NULL DEFAULT '-infinity',
  auditing_after uuid
);
INSERT INTO challenge_sweep DEFAULT VALUES;

-- Challenges of a tenant that are marked as expired and not yet in the audit log.
CREATE TABLE challenge_expiry_counts (
  tenant_id uuid PRIMARY KEY,
  expired bigint NOT NULL
);

CREATE TABLE refresh_tokens (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  -- All tokens that come from one authentication.
  family_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  key_id uuid NOT NULL,
  -- SHA-256 of the token's text.
  hash bytea NOT NULL CONSTRAINT refresh_tokens_hash_unique UNIQUE,
  client_id text NOT NULL,
  scopes text[] NOT NULL,
  audience text NOT NULL,
  -- Thumbprint of the key that the token is bound to (DPoP); null: none.
  jkt text,
  -- jti of the access tokens that were issued with this token: they end with it.
  access_token_ids uuid[] NOT NULL DEFAULT '{}',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- The same for the whole family; it never moves.
  family_expires_at timestamptz(3) NOT NULL,
  used_at timestamptz(3),
  -- SHA-256 of what its use asked for: tells an identical retry from another request.
  used_request bytea,
  successor_id uuid,
  revoked_at timestamptz(3),
  revoked_reason text
);
CREATE INDEX refresh_tokens_by_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_live_by_agent ON refresh_tokens (agent_id) WHERE revoked_at IS NULL;
CREATE INDEX refresh_tokens_by_end ON refresh_tokens (family_expires_at);

-- A decision that ends tokens before their time: one token (token_id), or all tokens of a principal that were issued up to not_before.
CREATE TABLE revocations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id uuid NOT NULL,
  token_id uuid,
  -- Who holds that token.
  holder uuid,
  -- An agent, an application or the tenant itself. Of a principal's rows the one with the greatest id counts.
  principal uuid,
  -- 'infinity' while the principal is suspended or deleted.
  not_before timestamptz(3) NOT NULL DEFAULT 'infinity',
  -- When the row is no longer needed, as every such token has ended by itself.
  expires_at timestamptz(3) NOT NULL,
  made_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  -- The writing transaction: a reader asks for all rows that it could not see before, however late they were committed.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  CHECK (num_nonnulls(token_id, principal) = 1)
);
CREATE INDEX revocations_by_position ON revocations (xid, id);
CREATE INDEX revocations_by_token ON revocations (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX revocations_by_principal ON revocations (principal, id) WHERE principal IS NOT NULL;
CREATE INDEX revocations_by_holder ON revocations (holder, expires_at) WHERE holder IS NOT NULL;
CREATE INDEX revocations_by_end ON revocations (expires_at);

-- The rows that have committed after a position, as event_feed has events. Reads no more than "most" rows of the table for after_xid, and
-- "most" for each transaction of open_xids.
CREATE FUNCTION revocation_page(after_xid xid8, after_id bigint, open_xids xid8[], open_ids bigint[], most integer)
RETURNS TABLE (xid xid8, id bigint, tenant_id uuid, token_id uuid, principal uuid, not_before timestamptz, expires_at timestamptz)
LANGUAGE sql STABLE SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off AS $function$
  WITH open AS (
    SELECT r.* FROM unnest(open_xids, open_ids) AS o (xid, id) CROSS JOIN LATERAL (
      SELECT r.* FROM revocations r WHERE r.xid = o.xid AND r.id > o.id ORDER BY r.xid, r.id LIMIT most
    ) AS r
  ), later AS (
    SELECT r.* FROM revocations r
    WHERE (r.xid, r.id) > (after_xid, after_id) AND r.xid < pg_snapshot_xmax(pg_current_snapshot())
    ORDER BY r.xid, r.id LIMIT most
  )
  SELECT r.xid, r.id, r.tenant_id, r.token_id, r.principal, r.not_before, r.expires_at
  FROM (SELECT * FROM open UNION ALL SELECT * FROM later) AS r ORDER BY r.xid, r.id LIMIT most
$function$;

-- A used client assertion. Never UNLOGGED: after a crash every assertion of the last minutes could be used again.
CREATE TABLE client_assertions (
  client_id uuid NOT NULL,
  -- SHA-256 of its jti.
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  -- As in workload_assertions.
  request bytea,
  repeats smallint NOT NULL DEFAULT 0,
  used_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (client_id, jti_hash)
);
CREATE INDEX client_assertions_by_end ON client_assertions (expires_at);

-- A used DPoP proof. Never UNLOGGED, and never inserted without waiting for the disk: after a crash, or when a standby takes over, every
-- proof of the last minute could be used again.
CREATE TABLE dpop_proofs (
  -- Thumbprint of the proof's key.
  jkt bytea NOT NULL CHECK (octet_length(jkt) = 32),
  -- SHA-256 of its jti.
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (jkt, jti_hash)
);
CREATE INDEX dpop_proofs_by_end ON dpop_proofs (expires_at);

-- A user as an issuer names it. The id is the sub of delegated tokens; it is random, and so says nothing of the name.
CREATE TABLE users (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  -- HMAC of issuer and sub under a key that is derived from a master key: finds the user. It is not unique: while a
  -- master key is changed, processes with the new one and without it may each make a row of one user.
  digest text NOT NULL,
  -- Issuer and sub, sealed with the user's key.
  name bytea NOT NULL,
  -- The user's key, sealed with a master key. It seals addresses in the audit log, too.
  key_sealed bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now()
);
CREATE INDEX users_by_digest ON users (tenant_id, digest);
CREATE INDEX users_by_sealing_key ON users (sealing_key(key_sealed), id);

-- What a user has delegated to an agent.
CREATE TABLE delegations (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  -- The user. No reference: the delegations of a user who is forgotten stay, and name nobody.
  user_id uuid NOT NULL,
  scopes text[] NOT NULL,
  audience text,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  revoked_at timestamptz(3),
  revoked_reason text,
  -- When the end was recorded in the audit log. Nothing is decided by it: a delegation ends at expires_at.
  expired_at timestamptz(3)
);
CREATE INDEX delegations_by_tenant ON delegations (tenant_id, id);
CREATE INDEX delegations_by_agent ON delegations (agent_id, id);
CREATE INDEX delegations_by_user ON delegations (user_id);
-- Delegations that have a workflow.
CREATE INDEX delegations_open ON delegations (id) WHERE revoked_at IS NULL AND expired_at IS NULL;
CREATE INDEX delegations_open_by_agent ON delegations (agent_id) WHERE revoked_at IS NULL AND expired_at IS NULL;

-- The status follows from the time, so it is computed and never stored. A deleted agent's delegations end with it.
CREATE VIEW delegation_records AS
SELECT delegation.id, delegation.tenant_id, delegation.agent_id, delegation.user_id, delegation.scopes, delegation.audience, delegation.expires_at, delegation.created_at,
       coalesce(delegation.revoked_at, agent.deleted_at) AS revoked_at,
       CASE WHEN delegation.revoked_at IS NULL AND agent.deleted_at IS NOT NULL THEN 'agent_deleted'
            ELSE delegation.revoked_reason END AS revoked_reason,
       CASE WHEN delegation.revoked_at IS NOT NULL OR agent.deleted_at IS NOT NULL THEN 'revoked'
            WHEN delegation.expires_at <= now() THEN 'expired'
            ELSE 'active' END AS status,
       person.name AS user_name, person.key_sealed AS user_key
FROM delegations delegation
JOIN agents agent ON agent.id = delegation.agent_id
LEFT JOIN users person ON person.id = delegation.user_id;

-- A person who is signed in with the credentials of an application, or with a code. The cookie is known only as its hash.
CREATE TABLE console_sessions (
  -- Its time is compared with revocations, as that of a token.
  id uuid PRIMARY KEY,
  hash bytea NOT NULL UNIQUE CHECK (octet_length(hash) = 32),
  tenant_id uuid NOT NULL REFERENCES tenants,
  application_id uuid NOT NULL REFERENCES applications,
  -- The secret that signed in, and whose end is that of the session; null: a code did.
  secret_id uuid,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  used_at timestamptz(3) NOT NULL DEFAULT now(),
  -- The youngest tokens that it got, which end when the person signs out.
  token_ids uuid[] NOT NULL DEFAULT '{}'
);
CREATE INDEX console_sessions_by_age ON console_sessions (created_at);

-- The code of a link, for one use.
CREATE TABLE console_codes (
  hash bytea PRIMARY KEY CHECK (octet_length(hash) = 32),
  tenant_id uuid NOT NULL REFERENCES tenants,
  application_id uuid NOT NULL REFERENCES applications,
  expires_at timestamptz(3) NOT NULL
);
CREATE INDEX console_codes_by_end ON console_codes (expires_at);

-- ═══ Audit: the log with its checkpoints and seals, and operator acts: rows are only added, so that a change is detected ═══

-- Rows of the audit log go with their tenant, and only when its time is over.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF TG_TABLE_NAME = 'audit_log' AND TG_LEVEL = 'ROW' AND TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM tenant_ends WHERE tenant_id = OLD.tenant_id AND erase_at <= now()) THEN RETURN OLD; END IF;
  END IF;
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
  -- Digest of the two below, which can go; null: there was no client.
  address text,
  -- IP address of the client, and a salt. Null: they went.
  client_address text,
  address_salt uuid,
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
-- Without the commonest entries: a page of the others would read past millions of them. The condition is that of tokens=false in
-- audit-reading.store.ts.
CREATE INDEX audit_log_without_tokens ON audit_log (tenant_id, id) WHERE action NOT IN ('auth.login.success', 'auth.token.issued');
CREATE TRIGGER audit_log_append_only BEFORE DELETE ON audit_log FOR EACH ROW EXECUTE FUNCTION refuse_change();
CREATE TRIGGER audit_log_no_truncate BEFORE TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION audit_address(client_address text, salt uuid) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT 'sha256:' || encode(sha256(uuid_send(salt) || convert_to(client_address, 'UTF8')), 'hex')
$function$;

-- The one change of a row, no sooner than half a day after it was written.
CREATE FUNCTION removes_client_address(was audit_log, becomes audit_log) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT was.occurred_at < now() - interval '12 hours' AND becomes.client_address IS NULL AND becomes.address_salt IS NULL
    AND to_jsonb(was) - '{client_address,address_salt}'::text[] = to_jsonb(becomes) - '{client_address,address_salt}'::text[]
$function$;
CREATE TRIGGER audit_log_no_update BEFORE UPDATE ON audit_log FOR EACH ROW
  WHEN (removes_client_address(OLD.*, NEW.*) IS NOT TRUE) EXECUTE FUNCTION refuse_change();

-- Removes the addresses of clients from a tenant's next rows, in the order of their ids. Runs with the rights of the tables' owner: the
-- role of api and worker may change no row of the audit log otherwise. latest: the last row that was read, null where there was none.
CREATE FUNCTION remove_client_addresses(tenant uuid, after uuid, days integer, most integer, OUT looked integer, OUT removed integer, OUT latest uuid)
LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
  WITH page AS MATERIALIZED (
    SELECT id FROM audit_log WHERE tenant_id = tenant AND id > after AND id < uuid_of_time(now() - days * interval '1 day')
    ORDER BY id LIMIT most
  ), changed AS (
    UPDATE audit_log l SET client_address = NULL, address_salt = NULL
    FROM page WHERE l.tenant_id = tenant AND l.id = page.id AND l.client_address <> 'local'
    RETURNING 1
  )
  SELECT (SELECT count(*) FROM page), (SELECT count(*) FROM changed), (SELECT id FROM page ORDER BY id DESC LIMIT 1)
  INTO looked, removed, latest;
END
$function$;

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

-- ═══ Ends of tenants: until when they can come back, and the signed certificates of those that are erased ═══

-- A tenant that ends. The row goes when the tenant is restored, and with the tenant.
CREATE TABLE tenant_ends (
  tenant_id uuid PRIMARY KEY REFERENCES tenants,
  asked_at timestamptz(3) NOT NULL DEFAULT now(),
  -- From then on everything is removed, and nothing can be restored.
  erase_at timestamptz(3) NOT NULL,
  -- It was suspended before it ended, and is again when it is restored.
  was_suspended boolean NOT NULL,
  -- Rows removed so far, by table, and workflows.
  removed jsonb NOT NULL DEFAULT '{}',
  -- When something was removed last.
  removed_at timestamptz(3)
);

-- Certificates of erased tenants: the tables whose rows were removed, and when. The slug of an erased tenant is never used again.
CREATE TABLE audit_erasures (
  tenant_id uuid PRIMARY KEY,
  slug text NOT NULL CONSTRAINT audit_erasures_slug_unique UNIQUE,
  erased_at timestamptz(3) NOT NULL,
  -- The text that is signed, with a key of the audit log.
  statement text NOT NULL,
  key_id text NOT NULL,
  signature bytea NOT NULL
);
CREATE TRIGGER audit_erasures_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit_erasures
  FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();

CREATE FUNCTION refuse_erased_slug() RETURNS trigger LANGUAGE plpgsql AS $function$
BEGIN
  IF EXISTS (SELECT FROM audit_erasures WHERE slug = NEW.slug) THEN
    RAISE EXCEPTION 'an erased tenant had this slug' USING ERRCODE = '23505', CONSTRAINT = 'tenants_slug_unique';
  END IF;
  RETURN NEW;
END
$function$;
CREATE TRIGGER tenants_slug_once BEFORE INSERT ON tenants FOR EACH ROW EXECUTE FUNCTION refuse_erased_slug();

-- Runs with the rights of the tables' owner: the role of api and worker may remove no row of the audit log otherwise.
CREATE FUNCTION erase_audit_rows(tenant uuid, most integer) RETURNS integer LANGUAGE plpgsql SECURITY DEFINER AS $function$
DECLARE
  gone integer;
BEGIN
  DELETE FROM audit_log WHERE tenant_id = tenant
    AND ctid = ANY (ARRAY(SELECT ctid FROM audit_log WHERE tenant_id = tenant LIMIT most));
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END
$function$;

-- For 30 days an end shows, and can be taken back: GRACE_DAYS of src/operations/erasure/tenant-end.ts. A row of the audit log goes only
-- when its tenant's time is over (refuse_change), so that time must be nobody's to choose but the owner's.
CREATE FUNCTION refuse_early_end() RETURNS trigger LANGUAGE plpgsql SET search_path = pg_catalog AS $function$
BEGIN
  IF pg_has_role((SELECT relowner FROM pg_class WHERE oid = TG_RELID), 'MEMBER') THEN RETURN NEW; END IF;
  IF TG_OP = 'UPDATE' THEN
    IF (NEW.tenant_id, NEW.asked_at, NEW.erase_at) = (OLD.tenant_id, OLD.asked_at, OLD.erase_at) THEN RETURN NEW; END IF;
  -- A time of milliseconds may be rounded down.
  ELSIF NEW.erase_at > now() + interval '30 days' - interval '1 second' THEN RETURN NEW;
  END IF;
  RAISE EXCEPTION 'a tenant ends 30 days after that is asked for' USING ERRCODE = '42501';
END
$function$;
CREATE TRIGGER tenant_ends_in_time BEFORE INSERT OR UPDATE ON tenant_ends
  FOR EACH ROW EXECUTE FUNCTION refuse_early_end();

-- ═══ Events, partitioned by day on their UUIDv7 ids, and their order in the feed ═══

-- The first UUIDv7 of a day: partition bounds are days, and a read by id alone finds its partition.
CREATE FUNCTION uuid_of_time(at timestamptz) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (lpad(to_hex((extract(epoch FROM at) * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
$function$;

CREATE TABLE events (
  id uuid NOT NULL,
  tenant_id uuid NOT NULL,
  -- The publisher's own id, or this row's.
  event_id text NOT NULL,
  type text NOT NULL,
  occurred_at timestamptz(3) NOT NULL,
  -- The exact bytes that every attempt sends.
  body bytea NOT NULL,
  -- Tries a receiver and tells of nothing that happened; not in the feed.
  test boolean NOT NULL DEFAULT false,
  -- To how many deliveries the event was fanned out, as its publishing counted them; null where it did not. The rows of deliveries are
  -- compared with it, so it must never be computed from them.
  deliveries integer,
  -- The writing transaction: in the order (xid, id), behind a horizon of finished transactions, no row can join any more.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (id) INCLUDE (tenant_id, deliveries)
) PARTITION BY RANGE (id);
CREATE INDEX events_by_event_id ON events (tenant_id, event_id);
CREATE INDEX events_by_position ON events (tenant_id, xid, id) WHERE NOT test;
CREATE TABLE events_default PARTITION OF events DEFAULT;

-- A published event id: a repetition gets the first answer, and other content under the same id a refusal.
CREATE TABLE published_events (
  tenant_id uuid NOT NULL,
  event_id text NOT NULL,
  id uuid NOT NULL,
  digest bytea NOT NULL,
  deliveries integer NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT published_events_unique PRIMARY KEY (tenant_id, event_id)
);
CREATE INDEX published_events_by_age ON published_events (created_at);

-- The next events of a tenant in the feed, up to "most". low: no id that is wanted is smaller. All rows that have committed are returned,
-- so no open transaction delays one; those of transactions that this cluster has not begun are not. open_xids and open_ids: transactions
-- before after_xid that the caller has not read, or only up to an id. Its settings make it read the index in order and stop: without
-- statistics of a day that has just begun the planner would rather read and sort all that is left of it.
-- Since a time: begins after the last event, of any tenant, that is ten minutes older. Transactions are numbered as they begin to write,
-- so an event that was accepted later has a greater number.
CREATE FUNCTION event_feed(tenant uuid, after_xid xid8, after_id uuid, open_xids xid8[], open_ids uuid[], low uuid, since timestamptz,
  most integer)
RETURNS TABLE (xid xid8, id uuid, type text, size integer) LANGUAGE sql STABLE
SET enable_sort = off SET enable_bitmapscan = off SET enable_seqscan = off AS $function$
  WITH earlier AS MATERIALIZED (
    SELECT coalesce((
      SELECT p.xid FROM events p WHERE since IS NOT NULL AND p.id < uuid_of_time(since - interval '10 minutes')
      ORDER BY p.id DESC LIMIT 1
    ), '0') AS xid
  ), open AS (
    SELECT e.* FROM unnest(open_xids, open_ids) AS o (xid, id) CROSS JOIN LATERAL (
      SELECT e.xid, e.id, e.type, octet_length(e.body) AS size
      FROM events e
      WHERE e.tenant_id = tenant AND NOT e.test AND e.id >= low AND e.xid = o.xid AND e.id > o.id
        AND (since IS NULL OR e.created_at >= since)
      ORDER BY e.xid, e.id LIMIT most
    ) AS e
  ), later AS (
    SELECT e.xid, e.id, e.type, octet_length(e.body) AS size
    FROM events e
    WHERE e.tenant_id = tenant AND NOT e.test AND e.id >= low
      AND (e.xid, e.id) > (
        (SELECT greatest(after_xid, s.xid) FROM earlier s),
        (SELECT CASE WHEN s.xid > after_xid THEN '00000000-0000-0000-0000-000000000000' ELSE after_id END FROM earlier s))
      AND e.xid < pg_snapshot_xmax(pg_current_snapshot())
      AND (since IS NULL OR e.created_at >= since)
    ORDER BY e.xid, e.id LIMIT most
  )
  SELECT * FROM (SELECT * FROM open UNION ALL SELECT * FROM later) AS e ORDER BY e.xid, e.id LIMIT most
$function$;

-- ═══ Subscriptions, the filters by which an event finds them, and streams of security events ═══

-- The name of a host without its port.
CREATE FUNCTION host_name(host text) RETURNS text LANGUAGE sql IMMUTABLE AS $function$
  SELECT regexp_replace(host, ':[0-9]+$', '')
$function$;

CREATE TABLE subscriptions (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  url text NOT NULL,
  -- The URL's host, with the port where the scheme has another. An IPv4-mapped address stands as the IPv4 address: [::ffff:5db8:d822] is 93.184.216.34.
  host text NOT NULL,
  event_types text[] NOT NULL,
  -- event_types with ** written as *.
  filters text[] NOT NULL,
  description text,
  -- aud of the stream's security event tokens; null: the subscription is no stream.
  stream_audience text,
  sink text NOT NULL CHECK (sink IN ('standard', 'security', 'audit')),
  -- The form in which deliveries carry their events.
  envelope text NOT NULL DEFAULT 'plain' CHECK (envelope IN ('plain', 'cloudevents-structured', 'cloudevents-binary')),
  -- By which signatures the receiver verifies deliveries.
  signatures text[] NOT NULL DEFAULT '{service-webhook-v1,v1}',
  -- The secrets and the headers are sealed with a master key.
  secret_sealed bytea NOT NULL,
  -- During a rotation both secrets sign, until the overlap ends.
  next_secret_sealed bytea,
  secret_overlap_ends_at timestamptz(3),
  headers_sealed bytea,
  -- Seconds for which a receiver takes a signature as fresh.
  max_age integer NOT NULL DEFAULT 300 CHECK (max_age BETWEEN 60 AND 3600),
  -- Attempts a second at most; null: no limit.
  rate_limit integer,
  -- Null: the default schedule.
  retry_policy jsonb,
  disable_after_days integer NOT NULL DEFAULT 14,
  disabled_reason text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE INDEX subscriptions_by_tenant ON subscriptions (tenant_id, id) WHERE deleted_at IS NULL;
CREATE INDEX subscriptions_by_host ON subscriptions (host_name(host), id) WHERE deleted_at IS NULL;
-- Subscriptions whose rotation of secrets has a workflow.
CREATE INDEX subscriptions_overlapping ON subscriptions (id) WHERE secret_overlap_ends_at IS NOT NULL;
CREATE INDEX subscriptions_by_sealing_key ON subscriptions (sealing_key(secret_sealed), id) WHERE secret_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_next_sealing_key ON subscriptions (sealing_key(next_secret_sealed), id) WHERE next_secret_sealed IS NOT NULL;
CREATE INDEX subscriptions_by_headers_sealing_key ON subscriptions (sealing_key(headers_sealed), id) WHERE headers_sealed IS NOT NULL;

-- The filters of live subscriptions, a row each, so that the subscriptions of an event are found by its type. A trigger keeps the rows equal
-- to subscriptions.filters.
CREATE TABLE subscription_filters (
  tenant_id uuid NOT NULL,
  filter text NOT NULL,
  subscription_id uuid NOT NULL,
  -- A stream may leave out the event's subject.
  is_stream boolean NOT NULL,
  PRIMARY KEY (tenant_id, filter, subscription_id)
);

-- Runs with the rights of the tables' owner, so that no process needs to write the table.
CREATE FUNCTION keep_subscription_filters() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $function$
BEGIN
  IF TG_OP <> 'INSERT' THEN
    DELETE FROM subscription_filters
    WHERE tenant_id = OLD.tenant_id AND filter = ANY (OLD.filters) AND subscription_id = OLD.id;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.deleted_at IS NULL THEN
    INSERT INTO subscription_filters (tenant_id, filter, subscription_id, is_stream)
    SELECT DISTINCT NEW.tenant_id, filter, NEW.id, NEW.stream_audience IS NOT NULL FROM unnest(NEW.filters) AS filter;
  END IF;
  RETURN NULL;
END
$function$;
CREATE TRIGGER subscription_filters_kept AFTER INSERT OR DELETE OR UPDATE OF filters, deleted_at ON subscriptions
  FOR EACH ROW EXECUTE FUNCTION keep_subscription_filters();

-- What a subscription that is a stream has beside. Its endpoint is inactive while it is paused, and always when its receiver polls.
CREATE TABLE streams (
  -- The subscription.
  id uuid PRIMARY KEY REFERENCES subscriptions,
  tenant_id uuid NOT NULL REFERENCES tenants,
  -- The client that created the stream, and the only one that can see it.
  receiver text NOT NULL,
  method text NOT NULL CHECK (method IN ('push', 'poll')),
  -- URIs as the receiver sent them; null: all that are supported.
  events_requested text[],
  -- As the receiver has set it. A disabled stream has no filters.
  status text NOT NULL DEFAULT 'enabled' CHECK (status IN ('enabled', 'paused', 'disabled')),
  reason text
);
CREATE INDEX streams_by_receiver ON streams (tenant_id, receiver, id);

-- An agent of which a stream's receiver wants to hear nothing.
CREATE TABLE stream_exclusions (
  stream_id uuid NOT NULL REFERENCES streams,
  agent_id uuid NOT NULL,
  PRIMARY KEY (stream_id, agent_id)
);

-- Whether the receiver wants an event with this body.
CREATE FUNCTION stream_takes(stream uuid, body text) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT NOT EXISTS (
    SELECT 1 FROM stream_exclusions e WHERE e.stream_id = stream
      AND e.agent_id::text = coalesce(body::jsonb #>> '{data,agent_id}', body::jsonb #>> '{data,sub}'))
$function$;

-- ═══ Endpoints of subscriptions, with all that opens and closes them, and holds of hosts ═══

-- The delivery state of a subscription: whether attempts may begin, and how many.
CREATE TABLE endpoints (
  subscription_id uuid PRIMARY KEY REFERENCES subscriptions,
  tenant_id uuid NOT NULL,
  active boolean NOT NULL DEFAULT true,
  deleted boolean NOT NULL DEFAULT false,
  state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'held', 'down')),
  -- Counts openings. A waiting delivery keeps the epoch that it saw: a boolean may have changed twice.
  epoch bigint NOT NULL DEFAULT 0,
  -- Until when the endpoint asked not to be called (Retry-After).
  hold_until timestamptz(3),
  -- 'infinity' while the tenant is suspended, afterwards the end of the suspension. A copy, so that an endpoint is decided by one row.
  tenant_held_until timestamptz,
  -- host_hold_end of the subscription's host, copied for the same reason.
  host_held_until timestamptz,
  failing_since timestamptz(3),
  failures_in_a_row integer NOT NULL DEFAULT 0,
  -- The first three deliveries that failed in a row.
  failing_deliveries uuid[] NOT NULL DEFAULT '{}',
  -- The latest success that followed a failure.
  recovered_at timestamptz(3),
  -- Code of the latest failure; null after a success.
  last_error text,
  -- While the endpoint is down: when the next attempt may pass, and how many probes have failed.
  probe_at timestamptz(3),
  probe_step integer NOT NULL DEFAULT 0,
  -- Attempts that may still begin while the endpoint returns; null: it is not paced. permits_at: when that number last changed.
  permits integer CHECK (permits >= 0),
  permits_at timestamptz(3),
  -- Paced attempts that have succeeded.
  released integer NOT NULL DEFAULT 0,
  -- The endpoint's workflow knows of the outage and has not ended its watch.
  watched boolean NOT NULL DEFAULT false,
  -- Warnings that were sent about the outage which began at warned_for.
  warned integer NOT NULL DEFAULT 0,
  warned_for timestamptz(3),
  -- The subscription's rate_limit.
  rate integer CHECK (rate > 0),
  -- Attempts that could begin at tokens_at, as a fraction; below zero after one that did not have to wait.
  tokens double precision NOT NULL DEFAULT 1,
  tokens_at timestamptz NOT NULL DEFAULT now(),
  in_flight_cap integer NOT NULL DEFAULT 32 CHECK (in_flight_cap BETWEEN 1 AND 1000),
  p90_ms integer,
  updated_at timestamptz(3) NOT NULL DEFAULT now()
) WITH (fillfactor = 70);
CREATE INDEX endpoints_watched ON endpoints (subscription_id) WHERE watched;

-- Whether attempts may begin. A hold that has run out is open, even before a row says so, and so is an endpoint that is down when its
-- probe is due.
CREATE FUNCTION endpoint_is_open(endpoint endpoints) RETURNS boolean LANGUAGE sql STABLE AS $function$
  SELECT endpoint.active AND NOT endpoint.deleted
    AND coalesce(greatest(endpoint.hold_until, endpoint.tenant_held_until, endpoint.host_held_until) <= now(), true)
    AND (endpoint.state <> 'down' OR endpoint.probe_at <= now())
$function$;

-- When a closed endpoint opens by itself; null when it is open or nobody can say.
CREATE FUNCTION endpoint_opens_at(endpoint endpoints) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.active AND NOT endpoint.deleted AND NOT endpoint_is_open(endpoint)
    THEN nullif(greatest(endpoint.hold_until, endpoint.tenant_held_until, endpoint.host_held_until,
      CASE WHEN endpoint.state = 'down' THEN endpoint.probe_at END), 'infinity') END
$function$;

-- Attempts that a returning endpoint may begin; null when it is not paced. An attempt whose end is not recorded gives its permit back after
-- 30 s: twice the time-out of a send.
CREATE FUNCTION endpoint_permits(endpoint endpoints) RETURNS integer LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.permits = 0 AND endpoint.permits_at < now() - interval '30 seconds' THEN 1 ELSE endpoint.permits END
$function$;

-- Attempts that may begin now at an endpoint with a rate, as a fraction; null without a rate. Unused attempts are kept for a tenth of a second.
CREATE FUNCTION endpoint_tokens(endpoint endpoints) RETURNS double precision LANGUAGE sql STABLE AS $function$
  SELECT CASE WHEN endpoint.rate IS NOT NULL THEN least(greatest(1, endpoint.rate / 10.0::float8),
    endpoint.tokens + endpoint.rate * greatest(0, extract(epoch FROM now() - endpoint.tokens_at)::float8)) END
$function$;

-- A host to which an operator lets nothing be sent. A writer of a row holds the advisory lock of the host's name; a writer of a subscription
-- to that host shares it.
CREATE TABLE host_holds (
  -- A name, for all its ports, or a name with a port.
  host text PRIMARY KEY,
  -- 'infinity' while nobody can say. A hold that is over stays, as the end of the latest.
  until timestamptz NOT NULL,
  reason text NOT NULL,
  operator text NOT NULL,
  held_at timestamptz(3) NOT NULL DEFAULT now()
);

-- Until when nothing may be sent to this host; null when it was never held.
CREATE FUNCTION host_hold_end(of_host text) RETURNS timestamptz LANGUAGE sql STABLE AS $function$
  SELECT max(until) FROM host_holds WHERE host IN (of_host, host_name(of_host))
$function$;

-- ═══ Deliveries and attempts, partitioned by day; the outbox and the relays that hand it over; replays, receipts, accounts ═══

-- The id of the delivery of one event to one subscription: the event's time, then a digest. Publishing again makes the same ids.
-- One expression without FROM, so that it is inlined into the statements that use it.
CREATE FUNCTION delivery_id_of(event uuid, subscription uuid) RETURNS uuid LANGUAGE sql IMMUTABLE AS $function$
  SELECT (substr(replace(event::text, '-', ''), 1, 13) || substr(md5(event::text || subscription::text), 1, 3) || '8'
    || substr(md5(event::text || subscription::text), 4, 15))::uuid
$function$;

CREATE TABLE deliveries (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  -- events.id; event_id is the publisher's.
  event_row uuid NOT NULL,
  event_id text NOT NULL,
  event_type text NOT NULL,
  test boolean NOT NULL DEFAULT false,
  -- pending: untried; retrying: tried. "held" is never stored: see delivery_records.
  status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'retrying', 'delivered', 'failed', 'canceled')),
  -- Counts replays: each has a retry schedule and a workflow of its own.
  generation integer NOT NULL DEFAULT 0,
  -- Generation of the workflow that was started; null while none was.
  started_generation integer,
  attempt_count integer NOT NULL DEFAULT 0,
  -- Position in the retry schedule of this generation.
  failed_attempts integer NOT NULL DEFAULT 0,
  next_attempt_at timestamptz(3),
  -- A first attempt failed that was made without a workflow, and the one for the retries is not started yet.
  needs_workflow boolean NOT NULL DEFAULT false,
  -- The endpoint's epoch when the delivery's workflow began to wait for it.
  waiting_epoch bigint,
  -- When somebody asked for the next attempt before its time.
  retry_requested_at timestamptz(3),
  last_status_code integer,
  last_error text,
  -- The traceparent of the request that published it; null where that was not traced.
  trace text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  completed_at timestamptz(3)
) PARTITION BY RANGE (id);
CREATE INDEX deliveries_by_subscription ON deliveries (tenant_id, subscription_id, id);
CREATE INDEX deliveries_by_tenant ON deliveries (tenant_id, id);
CREATE INDEX deliveries_by_event_type ON deliveries (tenant_id, event_type, id);
CREATE INDEX deliveries_ended_badly ON deliveries (tenant_id, id) WHERE status IN ('failed', 'canceled');
CREATE INDEX deliveries_ended_badly_by_subscription ON deliveries (tenant_id, subscription_id, id) WHERE status IN ('failed', 'canceled');
-- The standing of a day: older failures do not make it slower. Only a delivery that fails for good writes to it.
CREATE INDEX deliveries_failed ON deliveries (tenant_id, completed_at) WHERE status = 'failed';
CREATE INDEX deliveries_by_event ON deliveries (event_row);
CREATE INDEX deliveries_unfinished ON deliveries (subscription_id, id) WHERE status IN ('pending', 'retrying');
CREATE INDEX deliveries_overdue ON deliveries (next_attempt_at) WHERE status IN ('pending', 'retrying') AND started_generation IS NOT NULL;
CREATE INDEX deliveries_waiting ON deliveries (subscription_id, id) WHERE waiting_epoch IS NOT NULL;
CREATE INDEX deliveries_needing_workflow ON deliveries (id) WHERE needs_workflow;
CREATE TABLE deliveries_default PARTITION OF deliveries DEFAULT;

-- Deliveries as people and routes see them. An untried delivery is held while its endpoint is closed, also at the moment of a probe; one of
-- a deleted subscription is canceled.
CREATE VIEW delivery_records AS
SELECT d.*,
  CASE
    WHEN d.status IN ('pending', 'retrying') AND e.deleted THEN 'canceled'
    WHEN d.status = 'pending' AND (NOT endpoint_is_open(e) OR e.state = 'down') THEN 'held'
    ELSE d.status
  END AS shown_status
FROM deliveries d JOIN endpoints e ON e.subscription_id = d.subscription_id;

-- One POST.
CREATE TABLE attempts (
  delivery_id uuid NOT NULL,
  n integer NOT NULL,
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  generation integer NOT NULL,
  -- Made while the endpoint was down, to find out whether it is back.
  probe boolean NOT NULL DEFAULT false,
  started_at timestamptz(3) NOT NULL,
  duration_ms integer NOT NULL,
  -- Milliseconds: dns_ms, connect_ms, tls_ms, first_byte_ms, total_ms.
  phases jsonb NOT NULL DEFAULT '{}',
  status_code integer,
  -- delivered, retry, gone or rejected.
  outcome text NOT NULL,
  -- A class and a code, never a text with addresses or secrets.
  error text,
  retry_after_seconds integer,
  response_excerpt text,
  recorded_at timestamptz(3) NOT NULL DEFAULT now(),
  PRIMARY KEY (delivery_id, n)
) PARTITION BY RANGE (delivery_id);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;

-- Work to hand over. Commands can always be claimed, the other kinds only while their endpoint is open.
CREATE TABLE outbox (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  -- The subscription's id.
  endpoint uuid NOT NULL,
  delivery_id uuid NOT NULL,
  generation integer NOT NULL DEFAULT 0,
  -- first: an untried delivery; wake: a tried one that waits for its endpoint; start: a workflow to start (replay, sweep, a first attempt
  -- that was made without one); command: for a running workflow.
  kind text NOT NULL CHECK (kind IN ('first', 'wake', 'start', 'command')),
  command text CHECK (command IN ('retry', 'cancel')),
  -- Within an endpoint first attempts (0) go before retries (1), retries before replays (2), and of each the oldest first.
  rank smallint NOT NULL DEFAULT 0,
  -- The relay that has taken the row, and that relay's epoch.
  claimed_by uuid,
  claim_epoch bigint,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CHECK ((kind = 'command') = (command IS NOT NULL))
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX outbox_ready ON outbox (tenant_id, endpoint, rank, id) WHERE claimed_by IS NULL AND kind <> 'command';
CREATE INDEX outbox_commands ON outbox (id) WHERE claimed_by IS NULL AND kind = 'command';
CREATE INDEX outbox_claimed ON outbox (claimed_by) WHERE claimed_by IS NOT NULL;
CREATE INDEX outbox_by_delivery ON outbox (delivery_id);

-- A delivery that waits for an early retry and has no workflow. When the retry is due, the outbox gets a row in place of this one.
CREATE TABLE crowded_deliveries (
  delivery_id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  generation integer NOT NULL,
  -- deliveries.next_attempt_at.
  due_at timestamptz(3) NOT NULL
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
CREATE INDEX crowded_deliveries_due ON crowded_deliveries (subscription_id, due_at);

-- A process that lives and claims rows of the outbox. When seen_at is older than 5 s by the database's clock, others take its claims over and its epoch ends.
CREATE TABLE relays (
  instance uuid PRIMARY KEY,
  -- worker: a relay, which claims any row. api: a process that claims only rows that it inserts.
  role text NOT NULL CHECK (role IN ('worker', 'api')),
  epoch bigint NOT NULL,
  started_at timestamptz(3) NOT NULL DEFAULT now(),
  seen_at timestamptz(3) NOT NULL DEFAULT now()
) WITH (fillfactor = 50);

-- A replay of many deliveries of one subscription: those that had ended with delivery_status before created_at.
CREATE TABLE bulk_replays (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  subscription_id uuid NOT NULL REFERENCES subscriptions,
  delivery_status text NOT NULL CHECK (delivery_status IN ('failed', 'canceled', 'delivered')),
  -- When the deliveries were accepted: since is included, until is not.
  since timestamptz(3) NOT NULL,
  until timestamptz(3) NOT NULL,
  status text NOT NULL DEFAULT 'running' CHECK (status IN ('running', 'completed', 'canceled')),
  end_reason text,
  -- Number of such deliveries at created_at.
  matched integer NOT NULL,
  replayed integer NOT NULL DEFAULT 0,
  -- All deliveries up to this one are done.
  next_after uuid NOT NULL DEFAULT '00000000-0000-0000-0000-000000000000',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  completed_at timestamptz(3)
);
CREATE INDEX bulk_replays_by_subscription ON bulk_replays (tenant_id, subscription_id, id);
CREATE UNIQUE INDEX bulk_replays_running ON bulk_replays (subscription_id) WHERE status = 'running';

-- One chunk of a bulk replay. deliveries: ids in their order, of which one is the first and one the last.
CREATE TABLE bulk_replay_parts (
  replay_id uuid NOT NULL REFERENCES bulk_replays ON DELETE CASCADE,
  first uuid NOT NULL,
  last uuid NOT NULL,
  deliveries uuid[] NOT NULL,
  PRIMARY KEY (replay_id, first)
);

-- Who has acknowledged that an agent's access ended: one for each such event; its deliveries are the receivers.
CREATE TABLE receipts (
  -- events.id.
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL,
  -- The type of the event.
  cause text NOT NULL,
  receivers integer NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  -- When the last delivery ended, as the receipt's workflow saw it first; a replay does not change it.
  completed_at timestamptz(3)
);
CREATE INDEX receipts_by_agent ON receipts (tenant_id, agent_id, id);
CREATE INDEX receipts_open ON receipts (id) WHERE completed_at IS NULL;
CREATE INDEX receipts_by_age ON receipts (created_at);

-- A tenant's deliveries by the UTC day of acceptance, as they were counted last.
CREATE TABLE delivery_accounts (
  tenant_id uuid NOT NULL,
  day date NOT NULL,
  accepted bigint NOT NULL,
  delivered bigint NOT NULL,
  waiting bigint NOT NULL,
  held bigint NOT NULL,
  failed bigint NOT NULL,
  canceled bigint NOT NULL,
  -- Of those that have not ended: deliveries that nothing is going to move.
  stranded bigint NOT NULL,
  -- Anything but 0: deliveries were lost, or counted twice.
  difference bigint GENERATED ALWAYS AS (accepted - delivered - waiting - held - failed - canceled) STORED,
  counted_at timestamptz(3) NOT NULL DEFAULT now(),
  -- Deliveries that retention has removed before their partition. A count adds them to the deliveries that are there.
  gone_accepted bigint NOT NULL DEFAULT 0,
  gone_delivered bigint NOT NULL DEFAULT 0,
  gone_failed bigint NOT NULL DEFAULT 0,
  gone_canceled bigint NOT NULL DEFAULT 0,
  gone_at timestamptz(3),
  PRIMARY KEY (tenant_id, day)
);
CREATE INDEX delivery_accounts_by_day ON delivery_accounts (day);
CREATE INDEX delivery_accounts_wrong ON delivery_accounts (day) WHERE difference <> 0;

-- When a day was counted last, whether or not any tenant had deliveries.
CREATE TABLE delivery_account_days (
  day date PRIMARY KEY,
  counted_at timestamptz(3) NOT NULL,
  took_ms integer NOT NULL
);

-- A subscription's deliveries by the hour of acceptance, as they were counted last; an hour without deliveries has no row.
CREATE TABLE delivery_hours (
  tenant_id uuid NOT NULL,
  subscription_id uuid NOT NULL,
  hour timestamptz(3) NOT NULL,
  delivered integer NOT NULL,
  failed integer NOT NULL,
  canceled integer NOT NULL,
  unfinished integer NOT NULL,
  PRIMARY KEY (tenant_id, subscription_id, hour)
);
CREATE INDEX delivery_hours_by_hour ON delivery_hours (hour);
CREATE INDEX delivery_hours_failed ON delivery_hours (tenant_id, subscription_id) WHERE failed > 0;

-- One row: when hours are counted next, and when all of them were counted last.
CREATE TABLE delivery_hour_counts (
  only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
  due_at timestamptz(3) NOT NULL,
  counted_at timestamptz(3) NOT NULL,
  all_counted_at timestamptz(3) NOT NULL
);
INSERT INTO delivery_hour_counts (due_at, counted_at, all_counted_at) VALUES ('-infinity', '-infinity', '-infinity');

-- ═══ Day partitions of events, deliveries and attempts: how one is made, taken out and dropped ═══

-- A statement that waits for the lock of a partitioned table makes all later ones wait behind it. So each of these functions gives up after
-- a quarter of a second, and its caller tries again.

-- Makes the partition of one day. Rows of that day that are in the default partition move into it.
CREATE FUNCTION ensure_day_partition(parent text, day date) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '250ms' AS $function$
DECLARE
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
  spare text := parent || '_default';
  key text := CASE parent WHEN 'attempts' THEN 'delivery_id' ELSE 'id' END;
  low uuid := uuid_of_time(day::timestamp AT TIME ZONE 'UTC');
  high uuid := uuid_of_time((day + 1)::timestamp AT TIME ZONE 'UTC');
BEGIN
  IF to_regclass(child) IS NOT NULL THEN RETURN false; END IF;
  PERFORM pg_advisory_xact_lock(hashtext('ensure_day_partition'));
  IF to_regclass(child) IS NOT NULL THEN RETURN false; END IF;
  EXECUTE format('CREATE TABLE %I (LIKE %I INCLUDING DEFAULTS INCLUDING CONSTRAINTS)', child, parent);
  IF parent <> 'events' THEN
    EXECUTE format('ALTER TABLE %I SET (fillfactor = 80)', child);
  END IF;
  EXECUTE format('WITH moved AS (DELETE FROM %I WHERE %I >= %L AND %I < %L RETURNING *) INSERT INTO %I SELECT * FROM moved', spare, key, low, key, high, child);
  EXECUTE format('ALTER TABLE %I ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', parent, child, low, high);
  RETURN true;
END
$function$;

-- Takes a day out of its table, so that it can be dropped without a lock on the table. Default partitions forbid DETACH CONCURRENTLY.
-- 'unfinished': it holds deliveries that have not ended, and stays; 'gone': there is no such partition.
CREATE FUNCTION detach_day_partition(parent text, day date) RETURNS text LANGUAGE plpgsql SET lock_timeout = '250ms' AS $function$
DECLARE
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
  ask text := format('SELECT EXISTS (SELECT 1 FROM ONLY %I WHERE status IN (''pending'', ''retrying''))', child);
  unfinished boolean := false;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('ensure_day_partition'));
  IF to_regclass(child) IS NULL THEN RETURN 'gone'; END IF;
  IF NOT EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(child) AND inhparent = to_regclass(parent)) THEN
    RETURN 'detached';
  END IF;
  IF parent = 'deliveries' THEN
    EXECUTE ask INTO unfinished;
    IF unfinished THEN RETURN 'unfinished'; END IF;
  END IF;
  EXECUTE format('LOCK TABLE ONLY %I IN ACCESS EXCLUSIVE MODE', parent);
  IF parent = 'deliveries' THEN
    EXECUTE ask INTO unfinished;
    IF unfinished THEN RETURN 'unfinished'; END IF;
  END IF;
  EXECUTE format('ALTER TABLE %I DETACH PARTITION %I', parent, child);
  RETURN 'detached';
END
$function$;

-- Drops a day that was taken out; false when there is none.
CREATE FUNCTION drop_detached_day(parent text, day date) RETURNS boolean LANGUAGE plpgsql SET lock_timeout = '250ms' AS $function$
DECLARE
  child text := parent || '_' || to_char(day, 'YYYYMMDD');
BEGIN
  IF to_regclass(child) IS NULL OR EXISTS (SELECT 1 FROM pg_inherits WHERE inhrelid = to_regclass(child)) THEN RETURN false; END IF;
  EXECUTE format('DROP TABLE %I', child);
  RETURN true;
END
$function$;

-- The one thing that a role without the tables must do to their schema.
-- Runs with the rights of the tables' owner, so that the role of api and worker can keep the days and change nothing else of the schema.
-- A table that its caller made must never be reached by these rights, so the names of the tables are given.
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

-- ═══ Objectives, and what the planner believes ═══

-- What one process counted on one UTC day. A process writes its whole count again, so a repeated statement counts nothing twice.
CREATE TABLE objective_counts (
  day date NOT NULL,
  process uuid NOT NULL,
  objective text NOT NULL,
  good bigint NOT NULL,
  total bigint NOT NULL,
  PRIMARY KEY (day, process, objective)
);

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

-- Functions that run with the rights of the tables' owner take no table that their caller made for one of the owner's: temporary ones come
-- last.
DO $do$
DECLARE
  name text;
BEGIN
  FOREACH name IN ARRAY '{keep_subscription_filters,erase_audit_rows,remove_client_addresses,keep_day_partition}'::text[] LOOP
    EXECUTE format('ALTER FUNCTION %I SET search_path = %I, pg_temp', name, current_schema());
  END LOOP;
END
$do$;
REVOKE EXECUTE ON FUNCTION erase_audit_rows, remove_client_addresses, keep_day_partition, renew_statistics FROM PUBLIC;

-- What the planner shall believe of tables that are still empty, until Postgres has analyzed their rows. Each connection plans a statement
-- once, perhaps before the first row. Without statistics the planner takes it that one row in 200 has a null or a given value, so that an
-- index of all live rows, or of a tenant's keys, looks as cheap as the key of a row. Here all rows are live, and all keys of one tenant. An
-- older Postgres than 18 takes no statistics.
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
