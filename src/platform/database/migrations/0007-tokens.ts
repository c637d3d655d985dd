// What ends tokens before their time, keys of applications, and what a refresh token's second use is judged by.

export const tokens = `
-- access_token_ids: jti of the access tokens that were issued with this refresh token: they end with it.
-- used_request: SHA-256 of what its use asked for: an identical retry is told from another request.
ALTER TABLE refresh_tokens
  ADD COLUMN access_token_ids uuid[] NOT NULL DEFAULT '{}',
  ADD COLUMN used_request bytea;

-- One row a decision: one token (token_id), or all tokens of a principal (an agent, an application, the tenant itself) that were issued up to not_before,
-- which is infinity while the principal is suspended or deleted; of a principal's rows the one with the greatest id counts.
-- xid lets a reader ask for all that it could not see before, however late it was committed.
CREATE TABLE revocations (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id uuid NOT NULL,
  token_id uuid,
  principal uuid,
  not_before timestamptz(3) NOT NULL DEFAULT 'infinity',
  expires_at timestamptz(3) NOT NULL,
  xid xid8 NOT NULL DEFAULT pg_current_xact_id(),
  CHECK (num_nonnulls(token_id, principal) = 1)
);
CREATE INDEX revocations_by_xid ON revocations (xid);
CREATE INDEX revocations_by_token ON revocations (token_id) WHERE token_id IS NOT NULL;
CREATE INDEX revocations_by_principal ON revocations (principal, id) WHERE principal IS NOT NULL;
CREATE INDEX revocations_by_end ON revocations (expires_at);

-- jwks: public keys with which the application may authenticate (RFC 7523), {"keys": […]}.
ALTER TABLE applications ADD COLUMN jwks jsonb;

-- One row a used client assertion: SHA-256 of its jti. Never UNLOGGED: after a crash every assertion of the last minutes could be used again.
CREATE TABLE client_assertions (
  client_id uuid NOT NULL,
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (client_id, jti_hash)
);
CREATE INDEX client_assertions_by_end ON client_assertions (expires_at);
`;
