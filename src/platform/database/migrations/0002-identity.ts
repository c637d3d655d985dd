// Tenants, agents with their keys, rotations, directory signatures, enrollment tokens and anchors, and applications with
// their secrets.

export const identity = `
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
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  -- Default audience of the agent's tokens; null: the tenant's.
  audience text,
  -- Further audiences that the agent may ask for.
  audiences text[] NOT NULL DEFAULT '{}',
  scopes text[] NOT NULL,
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
`;
