// Issuers whose users' tokens a tenant accepts, and what users have delegated to agents.

export const delegations = `
-- Exactly one source of keys. jwks holds public keys only.
CREATE TABLE trusted_issuers (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  issuer text NOT NULL,
  jwks_uri text,
  jwks jsonb,
  audiences text[] NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  updated_at timestamptz(3) NOT NULL DEFAULT now(),
  CONSTRAINT trusted_issuers_issuer_unique UNIQUE (tenant_id, issuer),
  CONSTRAINT trusted_issuers_one_source CHECK ((jwks_uri IS NULL) <> (jwks IS NULL))
);
CREATE INDEX trusted_issuers_by_tenant ON trusted_issuers (tenant_id, id);

CREATE TABLE delegations (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  subject_issuer text NOT NULL,
  subject_sub text NOT NULL,
  scopes text[] NOT NULL,
  audience text,
  expires_at timestamptz(3) NOT NULL,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  revoked_at timestamptz(3),
  revoked_reason text
);
CREATE INDEX delegations_by_tenant ON delegations (tenant_id, id);
CREATE INDEX delegations_by_agent ON delegations (agent_id, id);
CREATE INDEX delegations_by_subject ON delegations (tenant_id, subject_sub, subject_issuer, agent_id);

-- The state is a matter of time, so it is computed and never stored. A deleted agent's delegations end with it.
CREATE VIEW delegation_records AS
SELECT delegation.id, delegation.tenant_id, delegation.agent_id, delegation.subject_issuer, delegation.subject_sub,
       delegation.scopes, delegation.audience, delegation.expires_at, delegation.created_at,
       coalesce(delegation.revoked_at, agent.deleted_at) AS revoked_at,
       CASE WHEN delegation.revoked_at IS NULL AND agent.deleted_at IS NOT NULL THEN 'agent_deleted'
            ELSE delegation.revoked_reason END AS revoked_reason,
       CASE WHEN delegation.revoked_at IS NOT NULL OR agent.deleted_at IS NOT NULL THEN 'revoked'
            WHEN delegation.expires_at <= now() THEN 'expired'
            ELSE 'active' END AS status
FROM delegations delegation
JOIN agents agent ON agent.id = delegation.agent_id;
`;
