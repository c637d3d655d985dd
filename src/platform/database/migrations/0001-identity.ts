// Tenants, applications, issuer keys, agents, keys, challenges, refresh tokens.

export const identity = `
CREATE TABLE tenants (
  id uuid PRIMARY KEY,
  slug text NOT NULL CONSTRAINT tenants_slug_unique UNIQUE CHECK (slug ~ '^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$'),
  name text NOT NULL,
  audience text,
  signing_algorithm text NOT NULL DEFAULT 'ES256' CHECK (signing_algorithm IN ('ES256', 'EdDSA')),
  base_url text NOT NULL CONSTRAINT tenants_base_url_unique UNIQUE,
  issuer_url text NOT NULL CONSTRAINT tenants_issuer_url_unique UNIQUE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now()
);

CREATE TABLE agents (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  name text NOT NULL,
  description text,
  capabilities text[] NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'active' CHECK (status IN ('active', 'suspended')),
  audience text,
  audiences text[] NOT NULL DEFAULT '{}',
  scopes text[] NOT NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE INDEX agents_by_tenant ON agents (tenant_id, id) WHERE deleted_at IS NULL;

CREATE TABLE applications (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  name text NOT NULL,
  audience text,
  scopes text[] NOT NULL,
  grant_types text[] NOT NULL,
  agent_id uuid REFERENCES agents,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  deleted_at timestamptz(3)
);
CREATE INDEX applications_by_tenant ON applications (tenant_id, id) WHERE deleted_at IS NULL;

-- hash: SHA-256 of the secret's text. The secret itself is shown once and stored nowhere.
CREATE TABLE application_secrets (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  application_id uuid NOT NULL REFERENCES applications,
  hash bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3)
);
CREATE INDEX application_secrets_by_application ON application_secrets (application_id);

-- private_sealed: PKCS #8 DER, sealed with a master key. A key is published from created_at, signs from activate_at
-- until a later one does, verifies until remove_at.
CREATE TABLE issuer_keys (
  kid text PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  algorithm text NOT NULL CHECK (algorithm IN ('ES256', 'EdDSA')),
  public_jwk jsonb NOT NULL,
  private_sealed bytea NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  activate_at timestamptz(3) NOT NULL,
  retire_at timestamptz(3),
  remove_at timestamptz(3)
);
CREATE INDEX issuer_keys_by_tenant ON issuer_keys (tenant_id, activate_at);

-- public_key: the raw bytes that the fingerprint is over. aliases: hex SHA-256 of the SPKI DER, then of the compressed point.
-- Rows of revoked keys outlive their agent: a revoked fingerprint stays taken.
CREATE TABLE agent_keys (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  algorithm text NOT NULL CHECK (algorithm IN ('ed25519', 'es256', 'es256k', 'bip340')),
  public_key bytea NOT NULL,
  fingerprint text NOT NULL CHECK (fingerprint ~ '^[0-9a-f]{64}$'),
  aliases text[] NOT NULL DEFAULT '{}',
  jwk_thumbprint text,
  label text,
  state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'deprecated', 'revoked')),
  verified_at timestamptz(3),
  deprecated_at timestamptz(3),
  sunset_at timestamptz(3),
  revoked_at timestamptz(3),
  revoked_reason text,
  last_used_at timestamptz(3),
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT agent_keys_fingerprint_unique UNIQUE (tenant_id, fingerprint)
);
CREATE INDEX agent_keys_by_agent ON agent_keys (agent_id, id);
CREATE INDEX agent_keys_by_spki ON agent_keys (tenant_id, (aliases[1]));
CREATE INDEX agent_keys_by_point ON agent_keys (tenant_id, (aliases[2]));

-- key_fingerprint: as it was asked for (it may be an alias). Times are whole seconds.
CREATE TABLE challenges (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  key_id uuid NOT NULL,
  key_fingerprint text NOT NULL,
  algorithm text NOT NULL,
  nonce bytea NOT NULL,
  audience text NOT NULL,
  scopes text[] NOT NULL,
  token_audience text,
  created_at timestamptz(3) NOT NULL,
  expires_at timestamptz(3) NOT NULL,
  consumed_at timestamptz(3),
  expired_at timestamptz(3)
) WITH (fillfactor = 80);
CREATE INDEX challenges_open ON challenges (expires_at) WHERE consumed_at IS NULL AND expired_at IS NULL;
CREATE INDEX challenges_by_age ON challenges (created_at);

-- hash: SHA-256 of the token's text. A family is everything that came of one authentication; family_expires_at never moves.
CREATE TABLE refresh_tokens (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL,
  family_id uuid NOT NULL,
  agent_id uuid NOT NULL,
  key_id uuid NOT NULL,
  hash bytea NOT NULL CONSTRAINT refresh_tokens_hash_unique UNIQUE,
  client_id text NOT NULL,
  scopes text[] NOT NULL,
  audience text NOT NULL,
  jkt text,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  family_expires_at timestamptz(3) NOT NULL,
  used_at timestamptz(3),
  successor_id uuid,
  revoked_at timestamptz(3),
  revoked_reason text
);
CREATE INDEX refresh_tokens_by_family ON refresh_tokens (family_id);
CREATE INDEX refresh_tokens_live_by_agent ON refresh_tokens (agent_id) WHERE revoked_at IS NULL;
CREATE INDEX refresh_tokens_by_end ON refresh_tokens (family_expires_at);
`;
