// DPoP proofs that were used.

export const dpop = `
-- One row a used proof: thumbprint of its key, SHA-256 of its jti. Never UNLOGGED, and never inserted without waiting for the
-- disk: a crash, or a standby that takes over, would make every proof of the last minute usable a second time.
CREATE TABLE dpop_proofs (
  jkt bytea NOT NULL CHECK (octet_length(jkt) = 32),
  jti_hash bytea NOT NULL CHECK (octet_length(jti_hash) = 32),
  expires_at timestamptz(3) NOT NULL,
  PRIMARY KEY (jkt, jti_hash)
);
CREATE INDEX dpop_proofs_by_end ON dpop_proofs (expires_at);
`;
