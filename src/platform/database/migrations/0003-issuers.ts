// Keys of the tenants as issuers, and the issuers that they trust: for their users' tokens, and for workloads.

export const issuers = `
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

-- Keys that sign security event tokens and nothing else; the columns are those of issuer_keys. A table of its own, so that no statement
-- takes one of them for a key of access tokens.
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
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (tenant_id, hash)
);
CREATE INDEX workload_assertions_by_end ON workload_assertions (expires_at);
`;
