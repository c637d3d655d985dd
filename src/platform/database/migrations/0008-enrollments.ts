// Enrollment tokens: each lets an agent register one key by itself.

export const enrollments = `
-- hash: SHA-256 of the token's text. key_id: the key that it was used for; the key may be gone since.
CREATE TABLE enrollment_tokens (
  id uuid PRIMARY KEY,
  tenant_id uuid NOT NULL REFERENCES tenants,
  agent_id uuid NOT NULL REFERENCES agents,
  hash bytea NOT NULL CONSTRAINT enrollment_tokens_hash_unique UNIQUE,
  created_at timestamptz(3) NOT NULL DEFAULT now(),
  expires_at timestamptz(3) NOT NULL,
  used_at timestamptz(3),
  key_id uuid,
  revoked_at timestamptz(3),
  CONSTRAINT enrollment_tokens_use CHECK (key_id IS NULL OR used_at IS NOT NULL),
  CONSTRAINT enrollment_tokens_one_end CHECK (used_at IS NULL OR revoked_at IS NULL)
);
CREATE INDEX enrollment_tokens_by_agent ON enrollment_tokens (agent_id, id);
CREATE INDEX enrollment_tokens_by_end ON enrollment_tokens (expires_at);
`;
