// Challenges, refresh tokens, revocations, used proofs and assertions, delegations, and sessions of the console.

export const authentication = `
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
  -- An agent, an application or the tenant itself. Of a principal's rows the one with the greatest id counts.
  principal uuid,
  -- 'infinity' while the principal is suspended or deleted.
  not_before timestamptz(3) NOT NULL DEFAULT 'infinity',
  -- When the row is no longer needed, as every such token has ended by itself.
  expires_at timestamptz(3) NOT NULL,
  -- The writing transaction: a reader asks for all rows that it could not see before, however late they were committed.
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  CHECK (num_nonnulls(token_id, principal) = 1)
);
CREATE INDEX revocations_by_xid ON revocations (xid);
CREATE INDEX revocations_by_token ON revocations (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX revocations_by_principal ON revocations (principal, id) WHERE principal IS NOT NULL;
CREATE INDEX revocations_by_end ON revocations (expires_at);

-- A used client assertion. Never UNLOGGED: after a crash every assertion of the last minutes could be used again.
CREATE TABLE client_assertions (
  client_id uuid NOT NULL,
  -- SHA-256 of its jti.
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
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

-- What a user has delegated to an agent.
CREATE TABLE delegations (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  -- The user: iss and sub of its tokens.
  subject_issuer text NOT NULL,
  subject_sub text NOT NULL,
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
CREATE INDEX delegations_by_subject ON delegations (tenant_id, subject_sub, subject_issuer, agent_id);
-- Delegations that have a workflow.
CREATE INDEX delegations_open ON delegations (id) WHERE revoked_at IS NULL AND expired_at IS NULL;
CREATE INDEX delegations_open_by_agent ON delegations (agent_id) WHERE revoked_at IS NULL AND expired_at IS NULL;

-- The status follows from the time, so it is computed and never stored. A deleted agent's delegations end with it.
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
`;
