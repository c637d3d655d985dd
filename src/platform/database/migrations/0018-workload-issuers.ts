// Issuers whose assertions name workloads, and the assertions that were used.

export const workloadIssuers = `
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
