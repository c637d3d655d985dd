// Where the sealers of the audit log put what they prepare of the next seal.

export const auditParts = `
-- A part of the next seal holds the rows of some tenants. The sealer makes a part that is lost or changed anew from the audit log. The
-- audit key signs both texts.
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
