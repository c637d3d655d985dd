// Sessions of the console, and the codes of the links that sign in.

export const consoleSessions = `
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
