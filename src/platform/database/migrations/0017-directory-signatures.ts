// Signatures with which agents' keys stand in the tenant's directory of Web Bot Auth.

export const directorySignatures = `
-- One for each key, so that they are as many as keys at most. It goes with its key.
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
`;
