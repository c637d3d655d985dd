// Where the sealers of the audit log put what they prepare of the next seal.

export const auditParts = `
-- A part of the next seal: some tenants' rows. Nothing here is needed twice: what is lost, or was changed by another hand, is made anew.
-- The texts are signed with the audit key.
CREATE UNLOGGED TABLE audit_seal_parts (
  part smallint PRIMARY KEY,
  -- Whose rows, up to which position, for which seal.
  assignment text NOT NULL,
  assignment_signature bytea NOT NULL,
  -- Hashes of the part's checkpoints, as the seal will name them; null until one sealer has made them.
  result text,
  result_signature bytea,
  -- The rows of audit_checkpoints, as JSON.
  checkpoints text
);
-- Hashes do not compress.
ALTER TABLE audit_seal_parts ALTER COLUMN checkpoints SET STORAGE EXTERNAL;
`;
